// Layers: values from PyTorch 1.13 and 2.15, shapes, printing, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

namespace {

template <class Holder>
std::string refusal(Holder& module, const Tensor& x) {
  try {
    module(x);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("Conv2d") {
  nn::Conv2d conv(nn::Conv2dOptions(2, 4, {3, 2}).stride(2).padding({1, 0}).groups(2).bias(false));
  CHECK(conv->weight.sizes() == IntArrayRef{4, 1, 3, 2});
  CHECK(conv->named_parameters().keys() == std::vector<std::string>{"weight"});
  CHECK(conv(zeros({5, 2, 6, 6})).sizes() == IntArrayRef{5, 4, 3, 3});
  CHECK(text(conv) ==
        "tandem::nn::Conv2d(2, 4, kernel_size=[3, 2], stride=[2, 2], padding=[1, 0], groups=2, bias=false)");
  CHECK(refusal(conv, zeros({1, 3, 6, 6})).find("[1, 3, 6, 6]") != std::string::npos);
  CHECK_THROWS_WITH_AS(nn::Conv2d(nn::Conv2dOptions(3, 4, 3).groups(2)), doctest::Contains("divisible"), Error);
  CHECK_THROWS_WITH_AS(nn::Conv2d(3, 4, 0), doctest::Contains("kernel_size must be positive"), Error);
}

TEST_CASE("padding kSame preserves the size, even for even kernels") {
  nn::Conv2d conv(nn::Conv2dOptions(1, 1, {2, 3}).padding(kSame).dilation({1, 2}).bias(false));
  nn::init::ones_(conv->weight);
  const Tensor y = conv(count({1, 1, 3, 4}));
  CHECK(y.sizes() == IntArrayRef{1, 1, 3, 4});
  CHECK(y.equal(tensor({12., 16., 12., 16., 28., 32., 28., 32., 18., 20., 18., 20.}).to(kFloat).view({1, 1, 3, 4})));
  CHECK(text(conv).find("padding='same'") != std::string::npos);
  CHECK_THROWS_WITH_AS(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding(kSame).stride(2)),
                       doctest::Contains("padding='same' is not supported for strided convolutions"), Error);
}

TEST_CASE("Conv1d and ConvTranspose2d") {
  nn::Conv1d conv(nn::Conv1dOptions(1, 1, 3).padding(1));
  nn::init::ones_(conv->weight);
  nn::init::zeros_(conv->bias);
  CHECK(conv(count({1, 1, 4})).equal(tensor({1., 3., 6., 5.}).to(kFloat).view({1, 1, 4})));
  nn::ConvTranspose2d up(nn::ConvTranspose2dOptions(2, 3, 2).stride(2));
  CHECK(up->weight.sizes() == IntArrayRef{2, 3, 2, 2});
  CHECK(up(zeros({1, 2, 4, 5})).sizes() == IntArrayRef{1, 3, 8, 10});
  CHECK(text(up) == "tandem::nn::ConvTranspose2d(2, 3, kernel_size=[2, 2], stride=[2, 2])");
}

TEST_CASE("pooling, flatten, unflatten") {
  const Tensor x = count({1, 1, 4, 4});
  CHECK(nn::AvgPool2d(2)(x).equal(tensor({2.5, 4.5, 10.5, 12.5}).to(kFloat).view({1, 1, 2, 2})));
  CHECK(nn::MaxPool2d(nn::MaxPool2dOptions(3).stride(1))(x).equal(
      tensor({10., 11., 14., 15.}).to(kFloat).view({1, 1, 2, 2})));
  CHECK(F::max_pool2d(x, F::MaxPool2dFuncOptions(2)).sizes() == IntArrayRef{1, 1, 2, 2});
  CHECK(nn::AdaptiveAvgPool2d(1)(x).item<float>() == 7.5f);
  CHECK(nn::AdaptiveAvgPool2d(nn::AdaptiveAvgPool2dOptions({2, nullopt}))(x).sizes() == IntArrayRef{1, 1, 2, 4});
  CHECK(nn::Flatten()(zeros({2, 3, 4})).sizes() == IntArrayRef{2, 12});
  CHECK(nn::Unflatten(1, std::vector<int64_t>{3, 4})(zeros({2, 12})).sizes() == IntArrayRef{2, 3, 4});
  CHECK(text(nn::MaxPool2d(2)) ==
        "tandem::nn::MaxPool2d(kernel_size=[2, 2], stride=[2, 2], padding=[0, 0], dilation=[1, 1], "
        "ceil_mode=false)");
  CHECK(text(nn::AvgPool2d(nn::AvgPool2dOptions(3).stride(2))) ==
        "tandem::nn::AvgPool2d(kernel_size=[3, 3], stride=[2, 2], padding=[0, 0])");
  CHECK(text(nn::Flatten()) == "tandem::nn::Flatten(start_dim=1, end_dim=-1)");
}

TEST_CASE("activations") {
  const Tensor x = tensor({-2., -0.5, 0., 1.5}).to(kFloat);
  const auto near = [&](const Tensor& y, std::vector<double> values) {
    CHECK(y.allclose(tensor(values).to(kFloat), 1e-5, 1e-6));
  };
  near(nn::ReLU()(x), {0, 0, 0, 1.5});
  near(nn::LeakyReLU(nn::LeakyReLUOptions().negative_slope(0.1))(x), {-0.2, -0.05, 0, 1.5});
  near(nn::Sigmoid()(x), {0.11920292, 0.37754067, 0.5, 0.81757448});
  near(nn::Tanh()(x), {-0.96402758, -0.46211716, 0, 0.90514825});
  near(nn::GELU()(x), {-0.04550027, -0.15426877, 0, 1.39978924});
  near(nn::SiLU()(x), {-0.23840584, -0.18877033, 0, 1.22636171});
  near(nn::ELU()(x), {-0.86466472, -0.39346934, 0, 1.5});
  near(nn::Softmax(0)(x), {0.02174566, 0.09745727, 0.16067988, 0.72011721});
  near(nn::LogSoftmax(0)(x), {-3.82834125, -2.32834125, -1.82834125, -0.32834128});
  near(nn::Identity()(x), {-2, -0.5, 0, 1.5});
  Tensor y = x.clone();
  nn::ReLU(nn::ReLUOptions().inplace(true))(y);
  near(y, {0, 0, 0, 1.5});
  CHECK(text(nn::ReLU(true)) == "tandem::nn::ReLU(inplace=true)");
  CHECK(text(nn::Softmax(1)) == "tandem::nn::Softmax(dim=1)");
}

TEST_CASE("Embedding") {
  nn::Embedding rows(nn::EmbeddingOptions(4, 3).padding_idx(-1));
  const Tensor y = rows(tensor({{1, 3}, {1, 0}}));
  CHECK(y.sizes() == IntArrayRef{2, 2, 3});
  CHECK(y.select(0, 0).select(0, 1).equal(zeros({3})));
  y.sum().backward();
  CHECK(rows->weight.grad().sum(1).equal(tensor({3., 6., 0., 0.}).to(kFloat)));
  CHECK_THROWS_AS(rows(tensor({4})), IndexError);
  CHECK(text(rows) == "tandem::nn::Embedding(num_embeddings=4, embedding_dim=3, padding_idx=3)");
}

TEST_CASE("every layer can be cloned") {
  nn::Sequential net(nn::Conv2d(1, 2, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(8, 3),
                     nn::LogSoftmax(1));
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  const Tensor x = count({1, 1, 6, 6});
  CHECK(copy->forward(x).equal(net->forward(x)));
}

TEST_CASE("1-d pooling, adaptive max pooling, patches, distances") {
  const Tensor x = count({1, 1, 6});
  CHECK(near(nn::AvgPool1d(2)(x), {0.5, 2.5, 4.5}));
  CHECK(near(nn::MaxPool1d(nn::MaxPool1dOptions(3).stride(1))(x), {2, 3, 4, 5}));
  CHECK(near(nn::AdaptiveAvgPool1d(2)(x), {1, 4}));
  CHECK(near(nn::AdaptiveMaxPool1d(4)(x), {1, 2, 4, 5}));
  nn::AdaptiveMaxPool2d adaptive(nn::AdaptiveMaxPool2dOptions({2, nullopt}));
  auto [values, places] = adaptive->forward_with_indices(count({1, 1, 3, 2}));
  CHECK(near(values, {2, 3, 4, 5}));
  CHECK(equal(places.flatten(), tensor({2, 3, 4, 5}, TensorOptions(kLong))));
  const Tensor image = count({1, 2, 4, 4});
  const Tensor columns = nn::Unfold(nn::UnfoldOptions(2).stride(2))(image);
  CHECK(columns.sizes() == IntArrayRef{1, 8, 4});
  CHECK(nn::Fold(nn::FoldOptions(4, 2).stride(2))(columns).equal(image));
  CHECK_THROWS_WITH_AS(nn::Fold(nn::FoldOptions(4, 2))(image),
                       doctest::Contains("Only unbatched (2D) or batched (3D) input Tensors are supported (got 4D)"),
                       Error);
  CHECK_THROWS_WITH_AS(nn::Unfold(2)(image[0]), doctest::Contains("Only 4D input Tensors are supported (got 3D)"),
                       Error);
  CHECK_THROWS_WITH_AS(nn::Unfold(nn::UnfoldOptions({2, 6}).padding({1, 0}))(image),
                       doctest::Contains("Given input with spatial size (4, 4), kernel_size=(2, 6), dilation=(1, 1), "
                                         "padding=(1, 0), calculated shape of the array of sliding blocks as (5, "),
                       Error);
  CHECK(nn::PixelUnshuffle(2)(nn::PixelShuffle(2)(count({1, 4, 2, 2}))).equal(count({1, 4, 2, 2})));
  const Tensor a = row({3, 4}).view({1, 2}), b = row({0, 1}).view({1, 2});
  CHECK(near(nn::CosineSimilarity()(a, b), {0.8}));
  CHECK(near(nn::PairwiseDistance(nn::PairwiseDistanceOptions().eps(0))(a, b), {4.2426407}));
  CHECK(near(F::normalize(a), {0.6, 0.8}));
  const Tensor out = zeros({1, 2});
  CHECK(F::normalize(a.detach().requires_grad_(), F::NormalizeFuncOptions().p(1).out(out)).is_same(out));
  CHECK_FALSE(out.requires_grad());
  CHECK(near(out, {3.0 / 7, 4.0 / 7}));
}

TEST_CASE("clones of layers keep their values") {
  nn::Sequential net(nn::Conv2d(1, 2, 1), nn::GroupNorm(1, 2), nn::PReLU(), nn::ZeroPad2d(1), nn::Dropout3d(0.1));
  auto copy = std::dynamic_pointer_cast<nn::SequentialImpl>(net->clone());
  REQUIRE(static_cast<bool>(copy));
  const auto before = net->parameters(), after = copy->parameters();
  REQUIRE(before.size() == after.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    CHECK(before[i].equal(after[i]));
    CHECK(!before[i].is_same(after[i]));
  }
  nn::Bilinear form(2, 3, 4);
  CHECK(form(rand({5, 2}), rand({5, 3})).sizes() == IntArrayRef{5, 4});
}
