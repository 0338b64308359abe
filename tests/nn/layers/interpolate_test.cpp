// interpolate and Upsample: values and gradients of PyTorch 2.15, errors.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

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
  CHECK_THROWS_WITH_AS(F::interpolate(x), doctest::Contains("either size or scale_factor should be defined"), Error);
  const auto both = F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 2}).scale_factor(std::vector<double>{2});
  CHECK_THROWS_WITH_AS(F::interpolate(x, both), doctest::Contains("only one of size or scale_factor"), Error);
  CHECK_THROWS_WITH_AS(
      F::interpolate(x, F::InterpolateFuncOptions().scale_factor(std::vector<double>{2, 2, 2})),
      doctest::Contains("scale_factor shape must match input shape. Input is 2D, scale_factor size is [2, 2, 2]"),
      Error);
  CHECK_THROWS_WITH_AS(
      F::interpolate(x, F::InterpolateFuncOptions().size(std::vector<int64_t>{2, 2}).align_corners(true)),
      doctest::Contains("align_corners option can only be set with the interpolating modes"), Error);
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
  CHECK_THROWS_WITH_AS(F::interpolate(x, options),
                       doctest::Contains("Anti-alias option is only supported for bilinear"), Error);
}
