// Sums, products, means, norms and other folds of numbers on the CPU.
#include "tandem/core/backend/reduce.h"
#include "tandem/core/cpu/reduce_tables.h"
#include "tandem/core/reduce_dims.h"

namespace tandem::cpu {
namespace {

using namespace folds;

// Floats are folded in their own type, integers in int64.
template <template <class> class R>
void fold(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, name, [&]<class T>(Type<T>) { reduce(R<AsBytes<T>>{}, out, in, mask); });
}

void sum(const Tensor& out, const Tensor& in, uint32_t mask) { fold<Sum>("sum", out, in, mask); }
void prod(const Tensor& out, const Tensor& in, uint32_t mask) { fold<Prod>("prod", out, in, mask); }
void count_nonzero(const Tensor& out, const Tensor& in, uint32_t mask) {
  fold<CountNonzero>("count_nonzero", out, in, mask);
}

void mean(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), FloatTypes{}, "mean", [&]<class T>(Type<T>) {
    reduce(Mean<T>{{}, static_cast<T>(reduced_elements(in.sizes(), mask))}, out, in, mask);
  });
}

void squared_deviation(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor,
                       bool root) {
  dispatch(in.dtype(), FloatTypes{}, "var", [&]<class T>(Type<T>) {
    const T count = static_cast<T>(reduced_elements(in.sizes(), mask));
    reduce(SquaredDeviation<T>{count, static_cast<T>(divisor), root}, out, in, mask, &mean);
  });
}

void logsumexp(const Tensor& out, const Tensor& in, const Tensor& max, uint32_t mask) {
  dispatch(in.dtype(), FloatTypes{}, "logsumexp",
           [&]<class T>(Type<T>) { reduce(LogSumExp<T>{}, out, in, mask, &max); });
}

}  // namespace

constinit const ReduceKernels reduce_kernels{
    .sum = sum,
    .prod = prod,
    .mean = mean,
    .amax = amax,
    .amin = amin,
    .any = any,
    .all = all,
    .count_nonzero = count_nonzero,
    .norm = norm,
    .squared_deviation = squared_deviation,
    .logsumexp = logsumexp,
    .max_index = max_index,
    .min_index = min_index,
};

}  // namespace tandem::cpu
