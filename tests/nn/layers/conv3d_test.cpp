// Conv3d and the transposed convolutions: values from PyTorch 2.15, output sizes, gradients, threads, errors.
#include <doctest/doctest.h>

#include "tandem/testing.h"
#include "tandem/tests/nn/layers/volumes.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("conv3d") {
  const Tensor x = sines({1, 2, 3, 4, 4}), w = cosines({2, 2, 2, 3, 3}), b = tensor({0.5, -0.25}).to(kFloat);
  CHECK(near(conv3d(x, w, b, {1, 2, 1}, {1, 1, 0}), {1, 2, 4, 2, 2},
             {1.904149, 4.414187, 5.247366, 3.04725, -1.661594, -6.711016, -8.374351, -4.753976}, -0.97384548));
  const auto same = {3.717965, -1.661594, -6.711016, -3.304492, -1.463966, 5.887717, 9.362541, 3.354663};
  CHECK(near(conv3d(x, w, b, 1, "same"), {1, 2, 3, 4, 4}, same, 9.5220777));
  CHECK(near(F::conv3d(x, w, F::Conv3dFuncOptions().bias(b).padding(kSame)), {1, 2, 3, 4, 4}, same, 9.5220777));
  CHECK(equal(conv3d(x, w, b, 1, "valid"), conv3d(x, w, b)));
  CHECK(equal(conv3d(x[0], w, b), conv3d(x, w, b)[0]));
  CHECK(equal(convolution(x, w, b, {1, 2, 1}, {1, 1, 0}, 1, false, 0, 1), conv3d(x, w, b, {1, 2, 1}, {1, 1, 0})));
  CHECK(allclose(conv3d(x.to(kDouble), w.to(kDouble), b.to(kDouble)), conv3d(x, w, b).to(kDouble), 1e-4, 1e-4));
  // A transposed view, and an empty batch.
  const Tensor view = x.transpose(3, 4);
  CHECK(equal(conv3d(view, w, b), conv3d(view.contiguous(), w, b)));
  CHECK(conv3d(x.narrow(0, 0, 0), w, b).sizes() == IntArrayRef({0, 2, 2, 2, 2}));
}

TEST_CASE("conv3d is the sum of conv2d over the depth of the kernel") {
  const Tensor x = sines({2, 4, 5, 6, 5}), w = cosines({6, 2, 3, 2, 3}, 0.7);
  const Tensor y = conv3d(x, w, {}, 1, {0, 1, 1}, 1, 2);
  Tensor sum = zeros({2, 6, 3, 7, 5});
  for (int64_t d = 0; d < 3; ++d)
    for (int64_t k = 0; k < 3; ++k) sum.select(2, d).add_(conv2d(x.select(2, d + k), w.select(2, k), {}, 1, 1, 1, 2));
  CHECK(allclose(y, sum, 1e-4, 1e-4));
}

TEST_CASE("padding modes of Conv3d") {
  const auto conv = [](nn::PaddingMode mode) {
    nn::Conv3d layer(nn::Conv3dOptions(1, 1, 3).padding(1).padding_mode(mode).bias(false));
    NoGradGuard no_grad;
    layer->weight.copy_(count({1, 1, 3, 3, 3}));
    return layer(count({1, 1, 3, 3, 4}));
  };
  CHECK(near(conv(kReflect), {1, 1, 3, 3, 4}, {3978, 4113, 4464, 4563, 4662, 4797}, 247374));
  CHECK(near(conv(kReplicate), {1, 1, 3, 3, 4}, {3078, 3321, 3672, 3897, 4122, 4365}, 273456));
  CHECK(near(conv(kCircular), {1, 1, 3, 3, 4}, {4986, 4905, 5256, 5103, 5310, 5229}, 221130));
}

TEST_CASE("ConvTranspose1d and ConvTranspose3d") {
  nn::ConvTranspose1d line(nn::ConvTranspose1dOptions(2, 3, 3).stride(2).padding(1));
  nn::ConvTranspose3d volume(nn::ConvTranspose3dOptions(2, 2, 2).stride(2).output_padding(1).bias(false));
  {
    NoGradGuard no_grad;
    line->weight.copy_(cosines({2, 3, 3}));
    line->bias.copy_(tensor({1.0, 2.0, 3.0}));
    volume->weight.copy_(cosines({2, 2, 2, 2, 2}));
  }
  const Tensor x = sines({1, 2, 4});
  CHECK(near(line(x), {1, 3, 7}, {1.635011, 2.711826, 2.259255, 1.809462, 1.725745, 0.1628817, 0.5249887, 1.313242},
             46.49876));
  CHECK(near(line->forward(x, IntArrayRef({8})), {1, 3, 8},
             {1.635011, 2.711826, 2.259255, 1.809462, 1.725745, 0.1628817, 0.5249887, 0.944181}, 52.371494));
  CHECK(equal(line(x[0]), line(x)[0]));
  CHECK_THROWS_AS(line->forward(x, IntArrayRef({9})), Error);
  const std::vector<double> start{0.5138541, 0.1476452, 0.439094, 0.3390342, -0.03936715, 0.2187167, 0, -0.3543081};
  const Tensor y = sines({1, 2, 2, 2, 3});
  CHECK(near(volume(y), {1, 2, 5, 5, 7}, start, 0.22150198));
  CHECK(near(volume->forward(y[0], IntArrayRef({4, 5, 7})), {2, 4, 5, 7}, start, 0.22150198));
  CHECK(near(convolution(y, volume->weight, {}, 2, 0, 1, true, 1, 1), {1, 2, 5, 5, 7}, start, 0.22150198));
  CHECK(text(volume) ==
        "tandem::nn::ConvTranspose3d(2, 2, kernel_size=[2, 2, 2], stride=[2, 2, 2], output_padding=[1, 1, 1], "
        "bias=false)");
  nn::Sequential both(nn::Conv3d(2, 2, 2), nn::ConvTranspose3d(2, 1, 2));
  CHECK(both->forward(y).sizes() == IntArrayRef({1, 1, 2, 2, 3}));
}

TEST_CASE("conv3d and conv_transpose3d are adjoint") {
  const Tensor x = sines({2, 4, 4, 3, 5}).to(kDouble), w = cosines({6, 2, 2, 3, 2}, 0.3).to(kDouble);
  const Tensor y = conv3d(x, w, {}, {2, 1, 1}, {1, 1, 0}, {1, 1, 2}, 2), g = cosines(y.sizes(), 0.9).to(kDouble);
  const Tensor back = conv_transpose3d(g, w, {}, {2, 1, 1}, {1, 1, 0}, 0, 2, {1, 1, 2});
  CHECK(back.sizes() == IntArrayRef({2, 4, 4, 3, 5}));
  CHECK((y * g).sum().item<double>() == doctest::Approx((x * back).sum().item<double>()));
}

namespace {

// One channel, stride, padding, output_padding and dilation of the last dimension, 1 and 0 of the others.
Tensor scattered(const Tensor& x, const Tensor& w, int64_t stride, int64_t padding, int64_t extra, int64_t dilation) {
  const int64_t in = x.size(-1), kernel = w.size(-1), whole = (in - 1) * stride + dilation * (kernel - 1) + 1;
  const Tensor out = zeros({whole + extra});
  for (int64_t i = 0; i < in; ++i)
    for (int64_t k = 0; k < kernel; ++k)
      out.narrow(0, i * stride + k * dilation, 1).add_(x.reshape({in})[i] * w.reshape({kernel})[k]);
  return out.narrow(0, padding, whole + extra - 2 * padding);
}

}  // namespace

TEST_CASE("transposed convolutions with an output_padding from the stride on, below the dilation") {
  CHECK(
      equal(conv_transpose3d(count({1, 1, 1, 5}) + 1, ones({1, 1, 1, 1, 1}), {}, 1, {0, 0, 1}, {0, 0, 1}, 1, {1, 1, 2}),
            tensor({2, 3, 4, 5}).to(kFloat).view({1, 1, 1, 4})));
  for (const int64_t stride : {1, 2, 3})
    for (const int64_t padding : {0, 1, 3})
      for (const int64_t extra : {1, 3, 4}) {
        INFO(stride, " ", padding, " ", extra);
        const Tensor x = sines({1, 1, 4}), w = cosines({1, 1, 3});
        const Tensor wanted = scattered(x, w, stride, padding, extra, 5);
        const auto agrees = [&](const Tensor& out) { return allclose(out.reshape({-1}), wanted, 1e-5, 1e-6); };
        CHECK(agrees(conv_transpose1d(x, w, {}, stride, padding, extra, 1, 5)));
        CHECK(agrees(
            conv_transpose2d(x.unsqueeze(2), w.unsqueeze(2), {}, {1, stride}, {0, padding}, {0, extra}, 1, {1, 5})));
        CHECK(agrees(
            conv_transpose2d(x.unsqueeze(3), w.unsqueeze(3), {}, {stride, 1}, {padding, 0}, {extra, 0}, 1, {5, 1})));
        CHECK(agrees(conv_transpose3d(x.view({1, 1, 1, 1, 4}), w.view({1, 1, 1, 1, 3}), {}, {1, 1, stride},
                                      {0, 0, padding}, {0, 0, extra}, 1, {1, 1, 5})));
        CHECK(agrees(conv_transpose3d(x.view({1, 1, 4, 1, 1}), w.view({1, 1, 3, 1, 1}), {}, {stride, 1, 1},
                                      {padding, 0, 0}, {extra, 0, 0}, 1, {5, 1, 1})));
      }
}

TEST_CASE("errors of 1D convolutions speak of these and of their arguments") {
  const Tensor x = sines({1, 2, 4}), w = cosines({2, 2, 3});
  CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, 2, 0, 2),
                       doctest::Contains("conv_transpose1d: output_padding [2] must be less than the stride "
                                         "[2] or the dilation [1]"),
                       Error);
  CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, 0), doctest::Contains("conv_transpose1d: stride"), Error);
  CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, {}, 1, 3), doctest::Contains("conv_transpose1d: the output"), Error);
  CHECK_THROWS_WITH_AS(conv_transpose1d(x, w, ones({3})), doctest::Contains("conv_transpose1d: bias"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, cosines({2, 3, 3})), doctest::Contains("conv1d: weight expects 3"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, cosines({2, 2, 5})), doctest::Contains("conv1d: the length of the kernel"), Error);
  CHECK_THROWS_WITH_AS(conv1d(x, w, {}, 1, -1), doctest::Contains("conv1d: padding must be from 0"), Error);
}

TEST_CASE("conv3d on any number of threads") {
  const Tensor x = sines({3, 5, 6, 7, 9}).requires_grad_(), w = cosines({4, 5, 3, 3, 3}).requires_grad_();
  const auto results = [&] {
    const Tensor y = conv3d(x, w, {}, 1, 1);
    return autograd::grad({(y * y).sum()}, {x, w});
  };
  const int threads = get_num_threads();
  const auto many = results();
  set_num_threads(1);
  const auto one = results();
  set_num_threads(threads);
  CHECK(equal(many[0], one[0]));
  CHECK(equal(many[1], one[1]));
}

TEST_CASE("Errors of Conv3d") {
  const Tensor x = sines({1, 2, 3, 4, 4}), w = cosines({2, 2, 2, 3, 3});
  CHECK_THROWS_AS(conv3d(x, cosines({2, 3, 2, 3, 3})), Error);
  CHECK_THROWS_AS(conv3d(x, cosines({2, 2, 4, 3, 3})), Error);
  CHECK_THROWS_AS(conv3d(x[0][0], w), Error);
  CHECK_THROWS_AS(conv3d(x, w, {}, 0), Error);
  CHECK_THROWS_AS(conv3d(x, w, {}, 2, "same"), Error);
  CHECK_THROWS_AS(conv3d(x, w, {}, {1, 1}), Error);
  CHECK_THROWS_AS(conv3d(x, w.to(kDouble)), Error);
  CHECK_THROWS_AS(conv_transpose3d(x, w, {}, 1, 0, 1), Error);
  CHECK_THROWS_AS(conv_transpose3d(x, w, {}, 1, 4), Error);
  CHECK_THROWS_AS(nn::Conv3d(3, 2, 0), Error);
  CHECK_THROWS_AS(nn::Conv3d(nn::Conv3dOptions(3, 2, 1).groups(2)), Error);
}
