// Convolution: values against a direct sum, first and second gradients, every parameter, errors.
#include "tandem/autograd/ops/nn/conv2d.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest conv(const char* torch, TensorFn fn, std::vector<std::vector<InputSpec>> cases) {
  return {.name = torch, .torch = torch, .fn = std::move(fn), .cases = std::move(cases)};
}

double at(const Tensor& t, int64_t a, int64_t b, int64_t c, int64_t d) {
  return t.data_ptr<double>()[((a * t.size(1) + b) * t.size(2) + c) * t.size(3) + d];
}

// The definition, elementwise.
double direct(const Tensor& x, const Tensor& w, int64_t n, int64_t o, int64_t p, int64_t q, int64_t groups) {
  const int64_t channels = w.size(1), first = o / (w.size(0) / groups) * channels;
  double sum = 0;
  for (int64_t c = 0; c < channels; ++c)
    for (int64_t r = 0; r < w.size(2); ++r)
      for (int64_t s = 0; s < w.size(3); ++s) {
        const int64_t h = p * 2 - 1 + r * 2, v = q * 1 - 2 + s * 3;
        if (h >= 0 && h < x.size(2) && v >= 0 && v < x.size(3)) sum += at(x, n, first + c, h, v) * at(w, o, c, r, s);
      }
  return sum;
}

}  // namespace

TEST_CASE("conv2d matches its definition") {
  for (int64_t groups : {1, 2}) {
    const Tensors in = make_inputs({.cases = {{constant({3, 4, 7, 9}), constant({6, 4 / groups, 3, 2})}}}, 0, kDouble);
    const Tensor y = conv2d(in[0], in[1], {}, {2, 1}, {1, 2}, {2, 3}, groups);
    CHECK(y.sizes() == IntArrayRef{3, 6, 3, 10});
    double worst = 0;
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t o = 0; o < 6; ++o)
        for (int64_t p = 0; p < 3; ++p)
          for (int64_t q = 0; q < 10; ++q)
            worst = std::max(worst, std::abs(at(y, n, o, p, q) - direct(in[0], in[1], n, o, p, q, groups)));
    CHECK(worst < 1e-12);
  }
}

TEST_CASE("conv2d in every mode") {
  check_op(conv("F.conv2d(x0, x1, x2)", [](const Tensors& x) { return Tensors{conv2d(x[0], x[1], x[2])}; },
                {{real({2, 2, 4, 5}), real({3, 2, 3, 2}), real({3})},
                 {real({2, 1, 5, 5}), real({2, 1, 3, 3}), real({2})},
                 {real({1, 3, 1, 1}), real({2, 3, 1, 1}), real({2})},
                 {real({0, 2, 4, 4}), real({3, 2, 3, 3}), real({3})},
                 {real({2, 4, 5}), real({3, 2, 3, 2}), real({3})} /* 3-D: channels first */}));
}

TEST_CASE("conv2d with stride, padding, dilation, groups") {
  check_op(conv("F.conv2d(x0, x1, None, (2, 1), (1, 2), (2, 1))",
                [](const Tensors& x) {
                  return Tensors{conv2d(x[0], x[1], {}, {2, 1}, {1, 2}, {2, 1})};
                },
                {{real({2, 2, 5, 4}), real({3, 2, 2, 3})}}));
  check_op(conv("F.conv2d(x0, x1, x2, 2, 1, 1, 2)",
                [](const Tensors& x) { return Tensors{conv2d(x[0], x[1], x[2], 2, 1, 1, 2)}; },
                {{real({2, 4, 4, 4}), real({2, 2, 3, 3}), real({2})}}));
  check_op(conv("F.conv2d(x0, x1, None, 1, 1, 1, 3)",
                [](const Tensors& x) { return Tensors{conv2d(x[0], x[1], {}, 1, 1, 1, 3)}; },
                {{real({1, 3, 4, 3}), real({6, 1, 3, 3})}}));
  check_op(conv("F.conv2d(x0, x1, None, 3, 2)", [](const Tensors& x) { return Tensors{conv2d(x[0], x[1], {}, 3, 2)}; },
                {{real({1, 1, 6, 7}), real({1, 1, 2, 2})}}));
}

TEST_CASE("conv2d with padding to the same size") {
  check_op(
      conv("F.conv2d(x0, x1, x2, padding='same', dilation=(1, 2))",
           [](const Tensors& x) {
             return Tensors{conv2d(x[0], x[1], x[2], 1, "same", {1, 2})};
           },
           {{real({1, 2, 4, 5}), real({2, 2, 2, 2}), real({2})}, {real({1, 2, 3, 4}), real({1, 2, 3, 3}), real({1})}}));
  const Tensor x = ones({1, 1, 4, 4}), w = ones({1, 1, 2, 2});
  CHECK(conv2d(x, w, {}, 1, "valid").sizes() == IntArrayRef{1, 1, 3, 3});
  CHECK_THROWS_WITH_AS(conv2d(x, w, {}, 2, "same"), doctest::Contains("stride 1"), Error);
  CHECK_THROWS_WITH_AS(conv2d(x, w, {}, 1, "full"), doctest::Contains("\"full\""), Error);
}

TEST_CASE("conv1d and conv_transpose2d") {
  check_op(conv("F.conv1d(x0, x1, x2, 2, 1, 2)",
                [](const Tensors& x) { return Tensors{conv1d(x[0], x[1], x[2], 2, 1, 2)}; },
                {{real({2, 2, 7}), real({3, 2, 3}), real({3})}, {real({2, 7}), real({3, 2, 3}), real({3})}}));
  check_op(conv("F.conv_transpose2d(x0, x1, x2)",
                [](const Tensors& x) { return Tensors{conv_transpose2d(x[0], x[1], x[2])}; },
                {{real({2, 3, 2, 3}), real({3, 2, 3, 2}), real({2})},
                 {real({3, 2, 3}), real({3, 2, 3, 2}), real({2})},
                 {real({0, 3, 2, 3}), real({3, 2, 3, 2}), real({2})}}));
  check_op(conv("F.conv_transpose2d(x0, x1, x2, (2, 3), 1, (1, 2), 2, (1, 2))",
                [](const Tensors& x) {
                  return Tensors{conv_transpose2d(x[0], x[1], x[2], {2, 3}, 1, {1, 2}, 2, {1, 2})};
                },
                {{real({1, 4, 2, 3}), real({4, 1, 3, 2}), real({2})}}));
}

TEST_CASE("LeNet's shapes have the same bits on any number of threads") {
  const Tensors in = make_inputs(
      {.cases = {{constant({64, 1, 28, 28}), constant({20, 1, 3, 3}), constant({20}), constant({50, 20, 5, 5})}}}, 0,
      kFloat);
  same_bits_on_any_threads([&] {
    Tensors leaves;
    for (const Tensor& t : in) leaves.push_back(t.clone().requires_grad_());
    const Tensor y = conv2d(conv2d(leaves[0], leaves[1], leaves[2]), leaves[3], {}, 2);
    Tensors out = autograd::grad({y.sum()}, leaves);
    out.push_back(y);
    return out;
  });
}

TEST_CASE(
    "taps that meet nothing but padding change no bits, and images of small planes do not depend on their batch") {
  struct Case {
    int64_t height, width, kernel, stride, padding, dilation, groups;
  };
  for (const Case& c :
       {Case{1, 1, 3, 1, 1, 1, 1}, Case{2, 2, 3, 2, 1, 1, 1}, Case{1, 2, 5, 1, 2, 1, 2}, Case{2, 3, 3, 1, 2, 2, 1},
        Case{3, 1, 3, 3, 3, 1, 1}, Case{4, 4, 3, 2, 1, 1, 2}, Case{2, 2, 4, 2, 3, 2, 1}, Case{1, 1, 4, 2, 2, 1, 40}}) {
    INFO(c.height, " x ", c.width, ", kernel ", c.kernel, ", stride ", c.stride, ", padding ", c.padding);
    const Tensors in = make_inputs({.cases = {{constant({5, 40, c.height, c.width}),
                                               constant({80, 40 / c.groups, c.kernel, c.kernel}), constant({80})}}},
                                   0, kFloat);
    const auto run = [&](const Tensor& images, const Tensor& padded, int64_t padding) {
      const Tensor x = padded.detach().clone().requires_grad_(), w = in[1].detach().clone().requires_grad_();
      const Tensor y = conv2d(x, w, in[2], c.stride, padding, c.dilation, c.groups);
      Tensors out = autograd::grad({(y * y).sum()}, {x, w});
      const int64_t cut = c.padding - padding;
      out[0] = out[0].narrow(2, cut, images.size(2)).narrow(3, cut, images.size(3)).contiguous();
      out.push_back(y.detach());
      return out;
    };
    const auto with_zeros = [&](const Tensor& images) {
      const int64_t more = 2 * c.padding;
      const Tensor padded = zeros({images.size(0), images.size(1), c.height + more, c.width + more});
      padded.narrow(2, c.padding, c.height).narrow(3, c.padding, c.width).copy_(images);
      return padded;
    };
    const Tensors found = run(in[0], in[0], c.padding), want = run(in[0], with_zeros(in[0]), 0);
    CHECK(found[2].equal(want[2]));
    CHECK(found[0].allclose(want[0], 1e-4, 1e-4));
    CHECK(found[1].allclose(want[1], 1e-4, 1e-4));
    CHECK(found[1].eq(0).equal(want[1].eq(0)));
    for (int64_t n = 0; n < 5; ++n) {
      const Tensor image = in[0].narrow(0, n, 1);
      const Tensors alone = run(image, image, c.padding);
      CHECK(alone[0].equal(found[0].narrow(0, n, 1)));
      CHECK(alone[2].equal(found[2].narrow(0, n, 1)));
    }
  }
}

TEST_CASE("gradients are computed only for inputs that require them") {
  const Tensor x = ones({1, 1, 3, 3}), w = ones({1, 1, 2, 2});
  for (int which = 0; which < 3; ++which) {
    Tensors in{x.clone(), w.clone(), ones({1})};
    in[static_cast<std::size_t>(which)].requires_grad_();
    conv2d(in[0], in[1], in[2]).sum().backward();
    for (int i = 0; i < 3; ++i) CHECK(in[static_cast<std::size_t>(i)].grad().defined() == (i == which));
  }
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({8, 4, 32, 32}), w = ones({16, 3, 3, 3});
  CHECK_THROWS_WITH_AS(conv2d(x, w),
                       "conv2d: weight expects 3 input channels, input has 4\n  input  [8, 4, 32, 32] float32 "
                       "cpu\n  weight [16, 3, 3, 3] float32 cpu",
                       Error);
  const Tensor y = ones({1, 3, 4, 4});
  CHECK_THROWS_WITH_AS(conv2d(y, w, ones({3})), doctest::Contains("bias must be [16]"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, ones({1, 3, 5, 3})), doctest::Contains("height of the kernel"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, w, {}, 0), doctest::Contains("stride must be at least 1"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, w, {}, {1, 1, 1}), doctest::Contains("one or two numbers"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, w, {}, 1, -1), doctest::Contains("padding must be at least 0"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, w, {}, 1, 0, 1, 5), doctest::Contains("groups 5 does not divide"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y, w.to(kDouble)), doctest::Contains("dtypes differ"), Error);
  CHECK_THROWS_WITH_AS(conv2d(y.to(kLong), w.to(kLong)), doctest::Contains("int64"), Error);
  CHECK_THROWS_WITH_AS(conv2d(ones({3, 3}), w), doctest::Contains("[N, C, H, W]"), Error);
  CHECK_THROWS_WITH_AS(conv_transpose2d(y, ones({3, 1, 2, 2}), {}, 1, 0, 1), doctest::Contains("less than the stride"),
                       Error);
}

TEST_CASE("no input channels: the output is the bias, whose gradient is a count") {
  const Tensor x = zeros({2, 0, 5, 4}, kDouble), w = zeros({3, 0, 2, 2}, kDouble).requires_grad_();
  const Tensor bias = arange(1, 4, kDouble).requires_grad_();
  const Tensor y = conv2d(x, w, bias);
  CHECK(y.equal(bias.detach().view({1, 3, 1, 1}).expand({2, 3, 4, 3})));
  CHECK(conv2d(x, w.detach()).equal(zeros({2, 3, 4, 3}, kDouble)));
  const Tensor residual = full({2, 3, 4, 3}, -2, kDouble);
  CHECK(autograd::conv2d_with_epilogue(x, w.detach(), {bias.detach(), residual, FusedActivation::kRelu}, 1,
                                       IntArrayRef(0), 1, 1)
            .equal((y.detach() - 2).relu()));
  y.sum().backward();
  CHECK(bias.grad().equal(full({3}, 24, kDouble)));
  CHECK(w.grad().sizes() == w.sizes());
}

TEST_CASE("an epilogue has the bits of separate operations, with every padding") {
  manual_seed(3);
  const NoGradGuard no_grad;
  for (const ScalarType dtype : {kFloat, kBFloat16, kHalf})
    for (const int64_t kernel : {2, 3, 4})
      for (const char* padding : {"same", "valid"}) {
        const int64_t out = dtype == kFloat ? 5 : 20;  // enough for bfloat16 to be multiplied as it is
        const Tensor x = randn({2, 6, 9, 8}, dtype), bias = randn({out}, dtype), w = randn({out, 6, kernel, 3}, dtype);
        const Tensor plain = conv2d(x, w, bias, 1, padding), residual = randn(plain.sizes(), dtype);
        const auto found = [&](const Tensor& added, FusedActivation activation) {
          return autograd::conv2d_with_epilogue(x, w, {bias, added, activation}, 1, std::string_view(padding), 1, 1);
        };
        using enum FusedActivation;
        CHECK(found({}, kRelu).equal(plain.relu()));
        CHECK(found({}, kRelu6).equal(plain.clamp(0, 6)));
        CHECK(found({}, kHardswish).equal(hardswish(plain)));
        CHECK(found(residual, kHardswish).equal(hardswish(plain + residual)));
        CHECK(found(residual, kIdentity).equal(plain + residual));
        CHECK(found(residual, kRelu).equal((plain + residual).relu()));
        CHECK(found(residual, kRelu6).equal((plain + residual).clamp(0, 6)));
        CHECK_THROWS_AS(found(randn({2, out, plain.size(2) + 1, plain.size(3)}), kRelu), Error);
      }
}
