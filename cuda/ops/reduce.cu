// Sums, products, means and other folds of numbers on CUDA.
#include "tandem/core/backend/reduce.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/ops/batch_norm_tables.h"
#include "tandem/cuda/ops/reduce_loop.h"
#include "tandem/cuda/ops/reduce_tables.h"

namespace tandem::cuda_impl {
namespace {

using namespace folds;

// Floats are folded in their own type, integers in int64.
template <template <class> class R>
void fold(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(computed_type(in.dtype()), ComputedTypes{}, name,
           [&]<class T>(Type<T>) { reduce(name, R<AsBytes<T>>{}, out, in, mask); });
}

// Many rows of a half type, as in the gradient of a linear layer's bias, whose columns are summed.
bool are_channels(const Tensor& out, const Tensor& in, uint32_t mask) {
  constexpr int64_t kManyRows = 512;
  return isReducedFloatingType(in.scalar_type()) && out.dtype() == in.dtype() && in.dim() == 2 && out.dim() == 2 &&
         mask == 1 && in.is_contiguous() && out.stride(1) == 1 && in.size(0) >= kManyRows;
}

void sum(const Tensor& out, const Tensor& in, uint32_t mask) {
  if (!are_channels(out, in, mask)) return fold<Sum>("sum", out, in, mask);
  sum_channels(alias(out, {out.size(1)}, {1}, out.storage_offset()),
               alias(in, {in.size(0), in.size(1), 1}, {in.size(1), 1, 1}, in.storage_offset()));
}
void prod(const Tensor& out, const Tensor& in, uint32_t mask) { fold<Prod>("prod", out, in, mask); }
void count_nonzero(const Tensor& out, const Tensor& in, uint32_t mask) {
  fold<CountNonzero>("count_nonzero", out, in, mask);
}

void mean(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(computed_type(in.dtype()), FloatTypes{}, "mean", [&]<class T>(Type<T>) {
    reduce("mean", Mean<T>{{}, static_cast<T>(reduced_elements(in.sizes(), mask))}, out, in, mask);
  });
}

void squared_deviation(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor,
                       bool root) {
  dispatch(computed_type(in.dtype()), FloatTypes{}, "var", [&]<class T>(Type<T>) {
    const T count = static_cast<T>(reduced_elements(in.sizes(), mask));
    reduce("var", SquaredDeviation<T>{count, static_cast<T>(divisor), root}, out, in, mask, &mean);
  });
}

void logsumexp(const Tensor& out, const Tensor& in, const Tensor& max, uint32_t mask) {
  dispatch(computed_type(in.dtype()), FloatTypes{}, "logsumexp",
           [&]<class T>(Type<T>) { reduce("logsumexp", LogSumExp<T>{}, out, in, mask, &max); });
}

}  // namespace

constinit const ReduceKernels reduce_kernels{
    .sum = {sum, kTakesHalf},
    .prod = {prod, kTakesHalf},
    .mean = {mean, kTakesHalf},
    .amax = {amax, kTakesHalf},
    .amin = {amin, kTakesHalf},
    .any = {any, kTakesHalf},
    .all = {all, kTakesHalf},
    .count_nonzero = {count_nonzero, kTakesHalf},
    .norm = {norm, kTakesHalf},
    .squared_deviation = {squared_deviation, kTakesHalf},
    .logsumexp = {logsumexp, kTakesHalf},
    .max_index = max_index,
    .min_index = min_index,
};

}  // namespace tandem::cuda_impl
