// What reductions have in common on every backend: they choose the element type, float for the half types, and the fold.
// The loops over the elements are the backend's own.
//
// Loops::reduce(name, fold, out, in, mask, parameter = nullptr) folds `in` over the dimensions of `mask`; `parameter` is
// laid out like out.
#pragma once
#include <cmath>

#include "tandem/core/backend/reduce.h"
#include "tandem/core/formulas/reduce_ops.h"
#include "tandem/core/reduce_dims.h"

namespace tandem {

template <class Loops>
struct ReduceMaker {
  static void sum(const Tensor& out, const Tensor& in, uint32_t mask) { fold<folds::Sum>("sum", out, in, mask); }
  static void prod(const Tensor& out, const Tensor& in, uint32_t mask) { fold<folds::Prod>("prod", out, in, mask); }
  static void count_nonzero(const Tensor& out, const Tensor& in, uint32_t mask) {
    fold<folds::CountNonzero>("count_nonzero", out, in, mask);
  }
  static void mean(const Tensor& out, const Tensor& in, uint32_t mask) {
    dispatch(computed_type(in.dtype()), FloatTypes{}, "mean", [&]<class T>(Type<T>) {
      Loops::reduce("mean", folds::Mean<T>{{}, static_cast<T>(reduced_elements(in.sizes(), mask))}, out, in, mask);
    });
  }
  static void squared_deviation(const Tensor& out, const Tensor& in, const Tensor& mean, uint32_t mask, double divisor,
                                bool root) {
    dispatch(computed_type(in.dtype()), FloatTypes{}, "var", [&]<class T>(Type<T>) {
      const T count = static_cast<T>(reduced_elements(in.sizes(), mask));
      Loops::reduce("var", folds::SquaredDeviation<T>{count, static_cast<T>(divisor), root}, out, in, mask, &mean);
    });
  }
  static void logsumexp(const Tensor& out, const Tensor& in, const Tensor& max, uint32_t mask) {
    dispatch(computed_type(in.dtype()), FloatTypes{}, "logsumexp",
             [&]<class T>(Type<T>) { Loops::reduce("logsumexp", folds::LogSumExp<T>{}, out, in, mask, &max); });
  }

 private:
  // Floats are folded in their own type, integers in int64.
  template <template <class> class R>
  static void fold(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
    dispatch(computed_type(in.dtype()), ComputedTypes{}, name,
             [&]<class T>(Type<T>) { Loops::reduce(name, R<folds::AsBytes<T>>{}, out, in, mask); });
  }
};

/// The same for extremes and norms, which have a source of their own.
template <class Loops>
struct ExtremeMaker {
  static void amax(const Tensor& out, const Tensor& in, uint32_t mask) {
    extreme<folds::Largest>("max", out, in, mask);
  }
  static void amin(const Tensor& out, const Tensor& in, uint32_t mask) {
    extreme<folds::Smallest>("min", out, in, mask);
  }
  static void any(const Tensor& out, const Tensor& in, uint32_t mask) { truth<false>("any", out, in, mask); }
  static void all(const Tensor& out, const Tensor& in, uint32_t mask) { truth<true>("all", out, in, mask); }
  static void norm(const Tensor& out, const Tensor& in, uint32_t mask, double p) {
    dispatch(computed_type(in.dtype()), FloatTypes{}, "norm", [&]<class T>(Type<T>) {
      const auto reduce = [&](const auto& fold) { Loops::reduce("norm", fold, out, in, mask); };
      if (p == 0)
        reduce(folds::Norm0<T>{});
      else if (p == 1)
        reduce(folds::Norm1<T>{});
      else if (p == 2)
        reduce(folds::Norm2<T>{});
      else if (std::isinf(p) && p > 0)
        reduce(folds::NormExtreme<T, folds::Largest>{});
      else if (std::isinf(p))
        reduce(folds::NormExtreme<T, folds::Smallest>{});
      else
        reduce(folds::NormP<T>{{}, static_cast<T>(p)});
    });
  }

 private:
  template <template <class> class Order>
  static void extreme(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
    dispatch(computed_type(in.dtype()), ComputedTypes{}, name,
             [&]<class T>(Type<T>) { Loops::reduce(name, folds::Extreme<folds::AsBytes<T>, Order>{}, out, in, mask); });
  }
  // Types of one byte are compared with 0 as raw bits: they have no negative zero.
  template <bool kAll>
  static void truth(const char* name, const Tensor& out, const Tensor& in, uint32_t mask) {
    dispatch(computed_type(in.dtype()), ComputedTypes{}, name, [&]<class T>(Type<T>) {
      using Bits = std::conditional_t<sizeof(T) == 1, uint8_t, T>;
      Loops::reduce(name, folds::Truth<Bits, kAll>{}, out, in, mask);
    });
  }
};

}  // namespace tandem
