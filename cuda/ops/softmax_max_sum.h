// The maximum of a line and the sum of exp(x - maximum), in a single pass.
//
// M. Milakov, N. Gimelshein: Online normalizer calculation for softmax. 2018. If all values are -inf, the sum
// is 0 and the maximum -inf; a NaN or +inf makes the sum NaN.
#pragma once
#include <cmath>

#include "tandem/core/formulas/fast_exp.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {

template <class T>
struct MaxSum {
  T max, sum;

  __device__ static MaxSum none() { return {-INFINITY, 0}; }

  template <int kCount>
  __device__ void take(const T (&x)[kCount]) {
    T largest = x[0];
    TANDEM_UNROLL
    for (int k = 1; k < kCount; ++k) largest = x[k] > largest || largest != largest ? x[k] : largest;
    if (largest > max) {
      sum *= fast_exp(max - largest);
      max = largest;
    }
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      if (max > -INFINITY || x[k] != x[k]) sum += fast_exp(x[k] - max);
  }
  friend __device__ MaxSum operator+(MaxSum a, MaxSum b) {
    if (a.max == b.max) return {a.max, a.sum + b.sum};
    return a.max > b.max ? MaxSum{a.max, a.sum + b.sum * fast_exp(b.max - a.max)}
                         : MaxSum{b.max, b.sum + a.sum * fast_exp(a.max - b.max)};
  }
  friend __device__ MaxSum shuffle_xor(MaxSum value, int apart) {
    return {cuda_impl::shuffle_xor(value.max, apart), cuda_impl::shuffle_xor(value.sum, apart)};
  }
};

}  // namespace tandem::cuda_impl
