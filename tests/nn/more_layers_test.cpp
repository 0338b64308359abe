// Padding, resampling, group and instance normalisation, shrinkage, 1-d pooling, margin losses: values from
// PyTorch 2.15, clones, errors. The underlying operations have separate tests.
#include <doctest/doctest.h>

#include <sstream>

#include "tandem/tandem.h"

using namespace tandem;
namespace F = tandem::nn::functional;

namespace {

Tensor count(IntArrayRef sizes) { return arange(checked_numel(sizes), kFloat).view(sizes); }
Tensor row(const std::vector<double>& values) { return tensor(values).to(kFloat); }
bool near(const Tensor& a, const std::vector<double>& values) {
  return allclose(a.detach().reshape({-1}).narrow(0, 0, static_cast<int64_t>(values.size())), row(values), 1e-4, 1e-5);
}
template <class Holder>
std::string text(const Holder& module) {
  std::ostringstream out;
  out << module;
  return out.str();
}

}  // namespace

TEST_CASE("padding_mode of convolutions") {
  const auto conv = [](nn::PaddingMode mode) {
    nn::Conv2d layer(nn::Conv2dOptions(1, 1, 3).padding(1).padding_mode(mode).bias(false));
    NoGradGuard no_grad;
    layer->weight.copy_(count({1, 1, 3, 3}));
    return layer(count({1, 1, 3, 4}));
  };
  CHECK(near(conv(kReflect), {120, 138, 174, 180, 240, 258, 294, 300, 216, 234, 270, 276}));
  CHECK(near(conv(kReplicate), {99, 126, 162, 183, 231, 258, 294, 315, 291, 318, 354, 375}));
  CHECK(near(conv(kCircular), {150, 150, 186, 162, 258, 258, 294, 270, 150, 150, 186, 162}));
  nn::Conv2d same(nn::Conv2dOptions(1, 1, 2).padding(kSame).padding_mode(kCircular).bias(false));
  nn::Conv1d line(nn::Conv1dOptions(1, 1, 3).padding(2).padding_mode(kReflect).bias(false));
  {
    NoGradGuard no_grad;
    same->weight.copy_(count({1, 1, 2, 2}));
    line->weight.copy_(count({1, 1, 3}));
  }
  CHECK(near(same(count({1, 1, 3, 4})), {24, 30, 36, 26, 48, 54, 60, 50, 12, 18, 24, 14}));
  CHECK(near(line(count({1, 1, 4})), {1, 2, 5, 8, 7, 4}));
  CHECK(text(line).find("padding_mode=reflect") != std::string::npos);
  CHECK_THROWS_WITH_AS(nn::Conv2d(nn::Conv2dOptions(1, 1, 3).padding_mode(kConstant)),
                       doctest::Contains("padding_mode"), Error);
}

TEST_CASE("padding layers") {
  const Tensor x = count({1, 2, 3});
  CHECK(near(nn::ReflectionPad1d(1)(x), {1, 0, 1, 2, 1, 4, 3, 4, 5, 4}));
  CHECK(near(nn::ReplicationPad1d(nn::ReplicationPad1dOptions({1, 0}))(x), {0, 0, 1, 2, 3, 3, 4, 5}));
  CHECK(near(nn::ConstantPad1d(1, 7.0)(x), {7, 0, 1, 2, 7, 7, 3, 4, 5, 7}));
  CHECK(nn::ZeroPad1d(2)(x).sizes() == IntArrayRef{1, 2, 7});
  CHECK(near(nn::ZeroPad2d(nn::ZeroPad2dOptions({0, 1, 1, 0}))(x), {0, 0, 0, 0, 0, 1, 2, 0}));
  CHECK(nn::ReflectionPad2d(1)(count({1, 1, 2, 2})).sizes() == IntArrayRef{1, 1, 4, 4});
  CHECK(nn::ReplicationPad2d(1)(count({1, 1, 2, 2})).sum().item<float>() == 24);
  CHECK(nn::ConstantPad2d(1, 1.0)(zeros({1, 1, 2, 2})).sum().item<float>() == 12);
  CHECK(near(F::pad(x, F::PadFuncOptions({2, 1}).mode(kCircular)), {1, 2, 0, 1, 2, 0}));
  CHECK(text(nn::ReflectionPad1d(1)) == "tandem::nn::ReflectionPad1d(padding=[1, 1])");
}

TEST_CASE("interpolate and Upsample") {
  const Tensor x = count({1, 1, 3, 4});
  const auto bilinear =
      F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 1.5}).mode(kBilinear));
  CHECK(near(bilinear, {0, 0.5, 1.1666667, 1.8333333, 2.5, 3, 1, 1.5}));
  const auto nearest = F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{1.7}));
  CHECK(nearest.sizes() == IntArrayRef{1, 1, 5, 6});
  CHECK(near(nearest, {0, 0, 1, 1, 2, 2, 0, 0}));
  CHECK(near(F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 2}).mode(kArea)),
             {2.5, 4.5, 6.5, 8.5}));
  nn::Upsample up(nn::UpsampleOptions().scale_factor(std::vector<double>{2}).mode(kNearest));
  CHECK(up(x).sizes() == IntArrayRef{1, 1, 6, 8});
  CHECK(F::interpolate(count({1, 1, 4}), F::InterpolateFuncOptions().size(std::vector<int64_t>{7}).mode(kLinear))
            .size(2) == 7);
  CHECK(near(F::interpolate((count({1, 1, 2, 3, 4}) * 7).remainder(11),
                            F::InterpolateFuncOptions().size(std::vector<int64_t>{1, 2, 2}).mode(kArea)),
             {4.5, 6.125, 5, 3.875}));
  CHECK_THROWS_WITH_AS(F::interpolate(x), doctest::Contains("exactly one of size and scale_factor"), Error);
  CHECK_THROWS_WITH_AS(F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{2}).mode(kLinear)),
                       doctest::Contains("1 dimensions"), Error);
}

TEST_CASE("interpolate copies along a dimension whose size stays, where PyTorch does") {
  const auto scaled = [](const Tensor& t, std::vector<double> factors, nn::Interpolation mode) {
    return F::interpolate(t, F::InterpolateFuncOptions().scale_factor(std::move(factors)).mode(mode));
  };
  const Tensor image = count({1, 1, 3, 3}), line = row({1, 4, 2, 8}).view({1, 1, 4});
  CHECK(equal(scaled(image, {1.3}, kNearest), image));
  CHECK(equal(scaled(image, {2.2}, kNearest), scaled(image, {2}, kNearest)));
  CHECK(equal(scaled(line, {1.04}, kLinear), line));
  CHECK(near(scaled(line.unsqueeze(3), {1.04, 2}, kBilinear), {1, 1, 4, 4, 2, 2, 8, 8}));
  // PyTorch's kernels for one and three dimensions use the factor; its gradient does not.
  CHECK(near(scaled(line, {1.2}, kNearest), {1, 1, 4, 2}));
  // A copy, not the argument itself.
  CHECK(!scaled(line, {1.04}, kLinear).is_alias_of(line));
  const Tensor volume = count({1, 1, 2, 3, 4}).to(kDouble).requires_grad_();
  const Tensor kept = scaled(volume, {1.1}, kTrilinear);
  CHECK(equal(kept, volume));
  CHECK(equal(autograd::grad({(kept * 3).sum()}, {volume})[0], full_like(volume, 3)));
}

TEST_CASE("interpolate with antialias") {
  const auto resized = [](const Tensor& t, nn::Interpolation mode, int64_t height, int64_t width,
                          bool corners = false) {
    return F::interpolate(t, F::InterpolateFuncOptions()
                                 .size(std::vector<int64_t>{height, width})
                                 .mode(mode)
                                 .align_corners(corners)
                                 .antialias(true));
  };
  const Tensor x = (count({1, 1, 6, 4}) * 7).remainder(11).requires_grad_();
  const Tensor y = resized(x, kBilinear, 2, 5);
  CHECK(near(y, {3.375, 4.425, 5.625, 6, 5.125, 4.625, 5.675, 5.5, 4.5, 3.625}));
  CHECK(near(autograd::grad({y.flatten()[7]}, {x})[0],
             {0, 0, 0, 0, 0, 0, 0, 0, 0, 0.0625, 0.0625, 0, 0, 0.125, 0.125, 0, 0, 0.1875}));
  CHECK(near(resized(x, kBicubic, 3, 2), {3.8833985, 6.1561604, 5.1440444, 5.0971074, 5.4838171, 4.0380545}));
  CHECK(near(resized(x, kBilinear, 3, 2, true), {4.8125, 5.666667, 5.255, 4.3733335, 4.6375, 3.9666669}));
  CHECK(near(
      F::interpolate(
          x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{0.6, 1.1}).mode(kBilinear).antialias(true)),
      {2.5714283, 4.8571429, 5.5714283, 7.8571429, 3.4444442, 5.5555558, 6.4444447, 2.4444442}));
  // PyTorch's rows are all equal at width 1.
  CHECK(allclose(resized(x.transpose(2, 3), kBilinear, 3, 1), resized(x, kBilinear, 1, 3).transpose(2, 3)));
  const auto options = F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 2}).antialias(true);
  CHECK_THROWS_WITH_AS(F::interpolate(x, options), doctest::Contains("antialias requires kBilinear"), Error);
}

TEST_CASE("GroupNorm, InstanceNorm, BatchNorm3d, LocalResponseNorm") {
  nn::GroupNorm group(2, 4);
  CHECK(near(group(count({1, 4, 2})), {-1.3416355, -0.4472119, 0.4472117, 1.3416353}));
  CHECK(group->parameters().size() == 2);
  CHECK_THROWS_WITH_AS(nn::GroupNorm(3, 4), doctest::Contains("divisible"), Error);
  nn::InstanceNorm1d instance(nn::InstanceNorm1dOptions(2).track_running_stats(true));
  CHECK(near(instance(count({2, 2, 2})), {-0.99998, 0.99998, -0.99998}));
  CHECK(near(instance->running_mean, {0.25, 0.45}));
  CHECK(near(instance->running_var, {0.95, 0.95}));
  instance->eval();
  CHECK(near(instance(count({2, 2, 2})), {-0.2564932, 0.7694797, 1.5902581}));
  CHECK(nn::InstanceNorm2d(nn::InstanceNorm2dOptions(3).affine(true))->parameters().size() == 2);
  CHECK(nn::BatchNorm3d(2)(rand({2, 2, 2, 2, 2})).mean().abs().item<float>() < 1e-5);
  CHECK(nn::LocalResponseNorm(2)(ones({1, 3, 2})).sizes() == IntArrayRef{1, 3, 2});
}

TEST_CASE("more activations") {
  const Tensor x = row({-2, -0.25, 0.25, 2});
  CHECK(near(nn::Hardshrink()(x), {-2, 0, 0, 2}));
  CHECK(near(nn::Softshrink()(x), {-1.5, 0, 0, 1.5}));
  CHECK(near(nn::Tanhshrink()(x), {-1.0359724, -0.0050813, 0.0050813, 1.0359724}));
  CHECK(near(nn::Threshold(0.0, 9.0)(x), {9, 9, 0.25, 2}));
  CHECK(near(nn::CELU()(x), {-0.8646647, -0.2211992, 0.25, 2}));
  CHECK(near(nn::GLU()(x), {-2 * 0.5621765, -0.25 * 0.8807971}));
  CHECK(near(nn::Softmin(0)(x).sum(), {1}));
  CHECK(nn::Softmax2d()(rand({1, 3, 2, 2})).sum(1).allclose(ones({1, 2, 2})));
  nn::PReLU prelu(nn::PReLUOptions().num_parameters(2));
  prelu(rand({3, 2}) - 1).sum().backward();
  CHECK(prelu->weight.grad().sizes() == IntArrayRef{2});
  const Tensor drawn = F::gumbel_softmax(zeros({50, 4}), F::GumbelSoftmaxFuncOptions().hard(true).dim(1));
  CHECK(drawn.sum(1).allclose(ones({50})));
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
  CHECK(nn::PixelUnshuffle(2)(nn::PixelShuffle(2)(count({1, 4, 2, 2}))).equal(count({1, 4, 2, 2})));
  const Tensor a = row({3, 4}).view({1, 2}), b = row({0, 1}).view({1, 2});
  CHECK(near(nn::CosineSimilarity()(a, b), {0.8}));
  CHECK(near(nn::PairwiseDistance(nn::PairwiseDistanceOptions().eps(0))(a, b), {4.2426407}));
  CHECK(near(F::normalize(a), {0.6, 0.8}));
}

TEST_CASE("margin losses, and losses with mixed dtypes") {
  const Tensor a = row({1, 2}), b = row({2, 1}), sign = row({1, -1});
  CHECK(near(nn::MarginRankingLoss(nn::MarginRankingLossOptions().margin(0.5))(a, b, sign), {1.5}));
  CHECK(near(nn::HingeEmbeddingLoss()(a, sign), {0.5}));
  CHECK(near(nn::SoftMarginLoss()(a, sign), {(0.3132617 + 2.1269280) / 2}));
  CHECK(near(nn::TripletMarginLoss()(a.view({1, 2}), a.view({1, 2}), b.view({1, 2})), {0}));
  CHECK(near(nn::CosineEmbeddingLoss()(a.view({1, 2}), b.view({1, 2}), ones({1})), {0.2}));
  CHECK(near(nn::MultiMarginLoss()(a.view({1, 2}), zeros({1}, kLong)), {1}));
  CHECK(near(nn::MultiLabelSoftMarginLoss()(zeros({1, 2}), ones({1, 2})), {0.6931472}));
  CHECK(near(nn::PoissonNLLLoss()(zeros({2}), ones({2})), {1}));
  const Tensor number = tensor(1.0, TensorOptions(kDouble));
  CHECK((F::mse_loss(a, number).dtype() == kDouble));
  CHECK((F::l1_loss(number, a).dtype() == kDouble));
  CHECK((F::smooth_l1_loss(a, number).dtype() == kDouble));
}

TEST_CASE("clones of these layers keep their values") {
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
