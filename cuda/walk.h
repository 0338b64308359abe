// How kernels iterate over strided tensors: a position maps to an offset for each of N operands.
//
// Offsets count elements in 32 bits, modulo 2^32; read as int32_t they are negative for negative strides, as in flip.
#pragma once
#include <cstdint>

#include "tandem/core/base/host_device.h"
#include "tandem/core/max_dims.h"
#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

/// A kernel parameter.
template <int N>
struct Walk {
  int ndim = 0;
  FastDivide sizes[kMaxDims];  // innermost first
  uint32_t strides[kMaxDims][N];

  struct Offsets {
    uint32_t at[N];
  };
  TANDEM_HD Offsets offsets(uint32_t position) const {
    Offsets out{};
    for (int d = 0; d < kMaxDims; ++d) {
      if (d == ndim) break;
      step(d, position, out.at);
    }
    return out;
  }
  /// Adds what dimension `d` contributes to the first K offsets. `position` is then that in the outer dimensions.
  template <int K>
  TANDEM_HD void step(int d, uint32_t& position, uint32_t (&at)[K]) const {
    const uint32_t rest = sizes[d].quotient(position), index = position - rest * sizes[d].divisor;
    for (int k = 0; k < K; ++k) at[k] += index * strides[d][k];
    position = rest;
  }
};

}  // namespace tandem::cuda_impl
