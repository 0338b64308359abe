// Sums, products, means, norms and what else folds numbers, on the CPU.
#include <cmath>
#include <limits>

#include "tandem/core/cpu/fast_exp.h"
#include "tandem/core/cpu/reduce_tables.h"

namespace tandem::cpu {
namespace {

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;

template <class T>
struct Sum {
  using In = T;
  using Acc = Wide<T>;
  using Out = Acc;
  static constexpr bool kParameter = false;
  Acc identity() const { return 0; }
  Acc map(T x) const { return static_cast<Acc>(x); }
  // Integers wrap.
  Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_integral_v<Acc>)
      return static_cast<Acc>(static_cast<uint64_t>(a) + static_cast<uint64_t>(b));
    else
      return a + b;
  }
  Out finish(Acc a) const { return a; }
};

template <class T>
struct Prod : Sum<T> {
  using Acc = Wide<T>;
  Acc identity() const { return 1; }
  Acc combine(Acc a, Acc b) const {
    if constexpr (std::is_integral_v<Acc>)
      return static_cast<Acc>(static_cast<uint64_t>(a) * static_cast<uint64_t>(b));
    else
      return a * b;
  }
};

template <class T>
struct Mean : Sum<T> {
  T count;
  T finish(T a) const { return a / count; }
};

template <class T>
struct CountNonzero : Sum<bool> {
  using In = T;
  int64_t map(T x) const { return x != T(0); }
};

template <class T>
struct SquaredDeviation : Sum<T> {
  static constexpr bool kParameter = true;
  T divisor;
  bool root;
  T map(T x, T mean) const { return (x - mean) * (x - mean); }
  T finish(T a, T) const { return root ? std::sqrt(a / divisor) : a / divisor; }
};

// The shift is the largest x; where it is infinite nothing is taken away.
template <class T>
struct LogSumExp : Sum<T> {
  static constexpr bool kParameter = true;
  static T finite(T shift) { return std::abs(shift) <= std::numeric_limits<T>::max() ? shift : T(0); }
  T map(T x, T shift) const { return fast_exp(x - finite(shift)); }
  T finish(T a, T shift) const { return std::log(a) + finite(shift); }
};

// Sums go by what they fold into: equal types for floats, int64 for integers.
template <template <class> class R>
void fold(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), ComputedTypes{}, name, [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, bool>)
      reduce(R<uint8_t>{}, out, in, mask);  // the same bytes, and compilers know how to widen them
    else
      reduce(R<T>{}, out, in, mask);
  });
}

void sum(const Tensor& out, const Tensor& in, uint32_t mask) { fold<Sum>("sum", out, in, mask); }
void prod(const Tensor& out, const Tensor& in, uint32_t mask) { fold<Prod>("prod", out, in, mask); }
void count_nonzero(const Tensor& out, const Tensor& in, uint32_t mask) {
  fold<CountNonzero>("count_nonzero", out, in, mask);
}

void mean(const Tensor& out, const Tensor& in, uint32_t mask) {
  dispatch(in.dtype(), FloatTypes{}, "mean", [&]<class T>(Type<T>) {
    int64_t count = 1;
    for (std::size_t d = 0; d < in.sizes().size(); ++d)
      if (mask >> d & 1u) count *= in.sizes()[d];
    reduce(Mean<T>{{}, static_cast<T>(count)}, out, in, mask);
  });
}

void squared_deviation(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor,
                       bool root) {
  dispatch(in.dtype(), FloatTypes{}, "var", [&]<class T>(Type<T>) {
    reduce(SquaredDeviation<T>{{}, static_cast<T>(divisor), root}, out, in, mask, &mean);
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
