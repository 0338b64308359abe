// Random counts on CUDA: one thread per element.
#include "tandem/core/formulas/count_ops.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/random_tables.h"
#include "tandem/cuda/replayed_value.h"

namespace tandem::cuda_impl {
namespace {

__global__ void poisson_kernel(double* out, const double* rates, int64_t n, ReplayedDraw draw) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ops::poisson(rates[i], ops::UniformPairs(draw.now(), i));
}

__global__ void binomial_kernel(double* out, const double* counts, const double* probabilities, int64_t n,
                                ReplayedDraw draw) {
  const int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (i < n) out[i] = ops::binomial(counts[i], probabilities[i], ops::UniformPairs(draw.now(), i));
}

}  // namespace

void poisson(const Tensor& out, const Tensor& rates, const Generator::Draw& draw) {
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  launch("poisson", c, grid_for(out.numel(), 1), poisson_kernel, out.ptr<double>(),
         static_cast<const double*>(rates.ptr<double>()), out.numel(), replayed_draw(c, draw));
}

void binomial(const Tensor& out, const Tensor& counts, const Tensor& probabilities, const Generator::Draw& draw) {
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  launch("binomial", c, grid_for(out.numel(), 1), binomial_kernel, out.ptr<double>(),
         static_cast<const double*>(counts.ptr<double>()), static_cast<const double*>(probabilities.ptr<double>()),
         out.numel(), replayed_draw(c, draw));
}

}  // namespace tandem::cuda_impl
