// The table of reductions on CUDA, with sums, products, means and other folds of numbers.
#include "tandem/cuda/device.h"

#include "tandem/core/formulas/reduce_kernels.h"
#include "tandem/cuda/ops/batch_norm_tables.h"
#include "tandem/cuda/ops/reduce_loop.h"
#include "tandem/cuda/tables.h"

namespace tandem {
extern template struct ExtremeMaker<cuda_impl::ReduceLoops>;  // reduce_extreme.cu
}

namespace tandem::cuda_impl {
ReduceKernels::FoldIndex max_index, min_index;  // reduce_index.cu

namespace {

using Folds = ReduceMaker<ReduceLoops>;
using Extremes = ExtremeMaker<ReduceLoops>;

// Many rows of a half type, as in the gradient of a linear layer's bias, whose columns are summed.
bool are_channels(const Tensor& out, const Tensor& in, uint32_t mask) {
  constexpr int64_t kManyRows = 512;
  return isReducedFloatingType(in.scalar_type()) && out.dtype() == in.dtype() && in.dim() == 2 && out.dim() == 2 &&
         mask == 1 && in.is_contiguous() && out.stride(1) == 1 && in.size(0) >= kManyRows;
}

void sum(const Tensor& out, const Tensor& in, uint32_t mask) {
  if (is_strict() || !are_channels(out, in, mask)) return Folds::sum(out, in, mask);
  sum_channels(alias(out, {out.size(1)}, {1}, out.storage_offset()),
               alias(in, {in.size(0), in.size(1), 1}, {in.size(1), 1, 1}, in.storage_offset()));
}

}  // namespace

constinit const ReduceKernels reduce_kernels{
    .sum = {sum, kTakesHalf},
    .prod = {Folds::prod, kTakesHalf},
    .mean = {Folds::mean, kTakesHalf},
    .amax = {Extremes::amax, kTakesHalf},
    .amin = {Extremes::amin, kTakesHalf},
    .any = {Extremes::any, kTakesHalf},
    .all = {Extremes::all, kTakesHalf},
    .count_nonzero = {Folds::count_nonzero, kTakesHalf},
    .norm = {Extremes::norm, kTakesHalf},
    .squared_deviation = {Folds::squared_deviation, kTakesHalf},
    .logsumexp = {Folds::logsumexp, kTakesHalf},
    .max_index = max_index,
    .min_index = min_index,
};

}  // namespace tandem::cuda_impl
