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
  return affine_grid_generator(theta, size, align_corners);
}

}  // namespace tandem::nn::functional
