// The formulas of elementwise operations as functions of device code. Neither tensors nor the standard library's
// containers are included, because generated kernels (cuda/fusion) are compiled with this header, too.
#pragma once
#include <cmath>

#include "tandem/core/formulas/convert.h"
#include "tandem/core/formulas/value.h"

namespace tandem::cuda_impl {

template <class Op, class T>
struct Unary {
  using In = T;
  using Out = T;
  T p, q;
  __device__ T operator()(T x) const {
    if constexpr (requires { Op::outside(x); })
      if (Op::outside(x)) return Op::exact(x);
    return ops::apply_unary<Op>(x, p, q);
  }
};
template <class Op, class T>
struct Gradient {
  using In = T;
  using Out = T;
  T p, q;
  __device__ T operator()(T g, T saved) const {
    if constexpr (requires { Op::exact_gradient(g, saved); })
      if (Op::outside(saved)) return Op::exact_gradient(g, saved);
    return ops::apply_gradient<Op>(g, saved, p, q);
  }
};

template <class Op, class T>
struct Binary {
  using In = T;
  using Out = T;
  T p;
  __device__ T operator()(T a, T b) const { return ops::apply_binary<Op>(a, b, p); }
};

template <class Op, class T>
struct Ternary {
  using In = T;
  using Out = T;
  T p;
  __device__ T operator()(T a, T b, T c) const { return Op::apply(a, b, c, p); }
};

template <class Op, class T>
struct Compare {
  using In = T;
  using Out = bool;
  __device__ bool operator()(T a, T b) const { return Op::apply(a, b); }
};

template <class To, class From>
struct Convert {
  using In = From;
  using Out = To;
  __device__ To operator()(From x) const { return ops::convert<To>(x); }
};

/// Batch normalisation; scale is the weight times norm_inverse.
template <class T>
__device__ inline T norm_inverse(T variance, T eps) {
  return T(1) / std::sqrt(variance + eps);
}
template <class T>
__device__ inline T normalized(T x, T mean, T scale, T shift) {
  return (x - mean) * scale + shift;
}

}  // namespace tandem::cuda_impl
