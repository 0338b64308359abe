// Sampling at the positions of a grid: functional forms.
#include "tandem/nn/functional/grid_sample.h"

#include "tandem/autograd/ops/nn/grid_sampler.h"

namespace tandem::nn::functional {

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleFuncOptions& options) {
  int64_t mode = 0, outside = 0;
  switch (options.mode()) {
    case kBilinear:
      break;
    case kNearest:
      mode = 1;
      break;
    case kBicubic:
      mode = 2;
      break;
    default:
      check(false, "grid_sample: mode must be kBilinear, kNearest or kBicubic");
  }
  switch (options.padding_mode()) {
    case kZeros:
      break;
    case kBorder:
      outside = 1;
      break;
    case kReflection:
      outside = 2;
      break;
    default:
      check(false, "grid_sample: padding_mode must be kZeros, kBorder or kReflection");
  }
  return grid_sampler(input, grid, mode, outside, options.align_corners().value_or(false));
}

Tensor affine_grid(const Tensor& theta, IntArrayRef size, bool align_corners) {
  check(theta.is_floating_point(), "Expected theta to have floating point type, but got ", theta.dtype());
  check(size.size() == 4 || size.size() == 5,
        "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, respectively. Got size ", size);
  const auto d = static_cast<int64_t>(size.size()) - 2;
  check(theta.dim() == 3 && theta.size(1) == d && theta.size(2) == d + 1, "Expected a batch of ", d,
        "D affine matrices of shape Nx", d, "x", d + 1, " for size ", size, ". Got ", theta.sizes(), ".");
  for (const int64_t s : size) check(s > 0, "Expected non-zero, positive output size. Got ", size);
  return affine_grid_generator(theta, size, align_corners);
}

}  // namespace tandem::nn::functional
