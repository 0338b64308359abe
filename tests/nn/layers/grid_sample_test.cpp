// grid_sample and affine_grid: values from PyTorch 2.15 for all modes, gradients, errors.
#include <doctest/doctest.h>

#include "tandem/testing.h"
#include "tandem/tests/nn/layers/volumes.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("grid_sample of images") {
  struct Row {
    nn::InterpolationMode mode;
    nn::PaddingMode padding;
    bool corners;
    std::vector<double> values;
    double sum;
  };
  const Tensor x = sines({1, 2, 4, 5}), grid = cosines({1, 2, 3, 2}, 1.3) * 1.4;
  for (const Row& row :
       std::vector<Row>{{kBilinear, kZeros, false, {0.0, 0.0, 0.0, 0.0}, 0.11520688},
                        {kBilinear, kZeros, true, {0.1877387, 0.0, -0.2111331, 0.404384}, 0.62884238},
                        {kBilinear, kBorder, false, {0.7812683, 0.0, -0.1746072, 0.7642308}, 3.4748842},
                        {kBilinear, kBorder, true, {0.9386944, 0.0, -0.470056, 0.7932442}, 2.5607811},
                        {kBilinear, kReflection, false, {0.4549109, 0.0, 0.05040104, 0.7573982}, 3.8603913},
                        {kBilinear, kReflection, true, {0.4660197, 0.3109545, 0.118297, 0.7510641}, 4.5741427},
                        {kNearest, kZeros, false, {0.0, 0.0, 0.0, 0.0}, 0.22210521},
                        {kNearest, kZeros, true, {0.0, 0.0, 0.0, 0.9092974}, 2.0354966},
                        {kNearest, kBorder, false, {0.9906074, 0.0, 0.1498772, 0.9092974}, 4.4173439},
                        {kNearest, kBorder, true, {0.9906074, 0.0, -0.7509872, 0.9092974}, 2.8490526},
                        {kNearest, kReflection, false, {0.9906074, 0.0, 0.1498772, 0.9092974}, 4.4173439},
                        {kNearest, kReflection, true, {0.420167, 0.0, 0.420167, 0.9092974}, 6.1359184},
                        {kBicubic, kZeros, false, {-0.08129656, 5.53411e-05, 0.0134401, -0.06671654}, 0.056183139},
                        {kBicubic, kZeros, true, {0.1865706, -0.07927164, -0.302567, 0.4278781}, 0.33072872},
                        {kBicubic, kBorder, false, {0.8619294, 0.08367696, -0.1469951, 0.8083402}, 4.1586102},
                        {kBicubic, kBorder, true, {0.9881538, -0.07449781, -0.5614091, 0.8332619}, 2.45656},
                        {kBicubic, kReflection, false, {0.5590884, 0.1784517, 0.07082703, 0.8261396}, 4.9096406},
                        {kBicubic, kReflection, true, {0.5538206, 0.2285483, 0.1097784, 0.9189113}, 5.2915754}}) {
    CAPTURE(static_cast<int>(row.mode));
    CAPTURE(static_cast<int>(row.padding));
    CAPTURE(row.corners);
    const auto options = F::GridSampleFuncOptions().mode(row.mode).padding_mode(row.padding).align_corners(row.corners);
    CHECK(near(F::grid_sample(x, grid, options), {1, 2, 2, 3}, row.values, row.sum));
  }
}

TEST_CASE("grid_sample of volumes") {
  const Tensor x = sines({1, 2, 3, 4, 2}), grid = cosines({1, 2, 1, 2, 3}, 1.3) * 1.4;
  const auto sampled = [&](nn::InterpolationMode mode, nn::PaddingMode padding) {
    return F::grid_sample(x, grid, F::GridSampleFuncOptions().mode(mode).padding_mode(padding));
  };
  CHECK(near(sampled(kBilinear, kZeros), {1, 2, 2, 1, 2}, {-0.01116105, 0.0, 0.0, 0.0}, -0.02317291));
  CHECK(near(sampled(kBilinear, kBorder), {1, 2, 2, 1, 2}, {-0.5565678, 0.1645882, 0.4842986, 0.6525683}, 0.9189112));
  CHECK(
      near(sampled(kBilinear, kReflection), {1, 2, 2, 1, 2}, {-0.5565678, 0.1919712, 0.4816691, 0.6238951}, 1.0384641));
  CHECK(near(sampled(kBicubic, kZeros), {1, 2, 2, 1, 2}, {-0.012515, -0.005463885, -0.03910422, -0.01513977},
             -0.065652467));
  CHECK(near(sampled(kBicubic, kBorder), {1, 2, 2, 1, 2}, {-0.7418152, 0.2449403, 0.47765, 0.8322717}, 0.97686711));
  CHECK(
      near(sampled(kBicubic, kReflection), {1, 2, 2, 1, 2}, {-0.8684728, 0.3359219, 0.5144882, 0.8176804}, 1.0825670));
  CHECK(near(sampled(kNearest, kZeros), {1, 2, 2, 1, 2}, {0.0, 0.0, 0.0, 0.0}, 0));
  CHECK(near(sampled(kNearest, kBorder), {1, 2, 2, 1, 2}, {-0.9589243, -0.008851309, 0.841471, 0.6502879}, 1.5935813));
  CHECK(near(sampled(kNearest, kReflection), {1, 2, 2, 1, 2}, {-0.9589243, -0.008851309, 0.841471, 0.6502879},
             1.5935813));
}

TEST_CASE("affine_grid") {
  const Tensor theta = tensor({1.0, 0.5, 0.1, 0.0, 2.0, -0.3}).to(kFloat).view({1, 2, 3});
  CHECK(near(F::affine_grid(theta, {1, 1, 2, 3}), {1, 2, 3, 2},
             {-0.8166667, -1.3, -0.15, -1.3, 0.5166667, -1.3, -0.3166667, 0.7, 0.35, 0.7, 1.016667, 0.7}, -1.1999999));
  // The identity maps every element to itself.
  const Tensor x = sines({2, 3, 4, 5, 6}), same = eye(3, 4, kFloat).expand({2, 3, 4});
  for (const bool corners : {false, true})
    CHECK(allclose(
        F::grid_sample(x, F::affine_grid(same, x.sizes(), corners), F::GridSampleFuncOptions().align_corners(corners)),
        x, 1e-4, 1e-4));
}

TEST_CASE("grid_sample outside, empty and refused") {
  const Tensor x = sines({1, 2, 3, 3});
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor wild = tensor({inf, 0.0, std::nan(""), std::nan(""), 1e30, -1e30}).to(kFloat).view({1, 1, 3, 2});
  CHECK(equal(grid_sampler(x, wild, 0, 0, false), zeros({1, 2, 1, 3})));
  CHECK(F::grid_sample(x, zeros({1, 0, 3, 2})).sizes() == IntArrayRef({1, 2, 0, 3}));
  const Tensor grid = (cosines({1, 2, 2, 2}) * 0.9).requires_grad_();
  grid_sampler(x, grid, 1, 0, false).sum().backward();
  CHECK(equal(grid.grad(), zeros_like(grid)));
  CHECK_THROWS_AS(grid_sampler(x, zeros({2, 2, 2, 2}), 0, 0, false), Error);
  CHECK_THROWS_AS(grid_sampler(x, zeros({1, 2, 2, 3}), 0, 0, false), Error);
  CHECK_THROWS_AS(grid_sampler(x, zeros({1, 2, 2, 2}, kDouble), 0, 0, false), Error);
  CHECK_THROWS_AS(grid_sampler(x, zeros({1, 2, 2, 2}), 3, 0, false), Error);
  CHECK_THROWS_AS(grid_sampler(sines({1, 1, 2, 2, 2}), zeros({1, 1, 1, 1, 3}), 3, 0, false), Error);
  CHECK_THROWS_AS(F::grid_sample(x, grid, F::GridSampleFuncOptions().padding_mode(kCircular)), Error);
  CHECK_THROWS_AS(F::affine_grid(zeros({1, 2, 3}), {2, 1, 2, 2}), Error);
  const auto refuses = [](const Tensor& theta, IntArrayRef size, const char* words) {
    CHECK_THROWS_WITH_AS(F::affine_grid(theta, size), doctest::Contains(words), Error);
  };
  refuses(zeros({1, 2, 3}), {1, 1, 0, 2}, "Expected non-zero, positive output size. Got [1, 1, 0, 2]");
  refuses(zeros({1, 2, 3}, kInt), {1, 1, 2, 2}, "Expected theta to have floating point type, but got int");
  refuses(zeros({2, 3}), {1, 1, 2, 2}, "2D affine matrices of shape Nx2x3 for size [1, 1, 2, 2]. Got [2, 3].");
  refuses(zeros({1, 3, 8}), {1, 1, 2, 2, 3},
          "3D affine matrices of shape Nx3x4 for size [1, 1, 2, 2, 3]. Got [1, 3, 8].");
  refuses(zeros({1, 2, 3}), {1, 1}, "affine_grid only supports 4D and 5D sizes");
}
