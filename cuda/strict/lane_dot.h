// The product of two vectors in the order of the CPU's products with one column (core/cpu/linalg/gemv.cpp, dot).
#pragma once
#include <cstdint>

#include "tandem/core/formulas/math.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda_impl::strict {

/// Σ x[i] y[i], i < n: in four times 64 bytes of lanes, which are added one after the other, and then the rest.
/// Not inline: it would fill the loops around it.
template <class T>
[[gnu::noinline]] __device__ T lane_dot(int64_t n, const T* x, const T* y) {
  constexpr int kLanes = 64 / static_cast<int>(sizeof(T));
  const int64_t fours = n - n % (4 * kLanes), whole = n - n % kLanes;
  T sum = 0;
  for (int lane = 0; whole > 0 && lane < kLanes; ++lane) {
    T part[4] = {};
    for (int k = 0; k < 4; ++k)
      for (int64_t i = k * kLanes + lane; i < fours; i += 4 * kLanes) part[k] = math::fma(x[i], y[i], part[k]);
    for (int64_t i = fours + lane; i < whole; i += kLanes) part[0] = math::fma(x[i], y[i], part[0]);
    sum += (part[0] + part[1]) + (part[2] + part[3]);
  }
  for (int64_t i = whole; i < n; ++i) sum = math::fma(x[i], y[i], sum);
  return sum;
}

}  // namespace tandem::cuda_impl::strict
