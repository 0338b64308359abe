// Maps a position to 64-bit element offsets in tensors of any size. Cheap for one dimension and for fewer
// than 2^31 positions; for elementwise work see cuda/strided.h.
#pragma once
#include <cstdint>

#include "tandem/core/dims.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {

/// A kernel parameter.
template <int N>
struct LongWalk {
  int ndim = 0;
  bool wide = false;           ///< 2^31 positions or more
  FastDivide sizes[kMaxDims];  // innermost first
  int64_t long_sizes[kMaxDims];
  int64_t strides[kMaxDims][N];

  struct Offsets {
    int64_t at[N];
  };
  TANDEM_HD Offsets offsets(int64_t position) const {
    Offsets out{};
    if (ndim == 1) {
      for (int k = 0; k < N; ++k) out.at[k] = position * strides[0][k];
      return out;
    }
    TANDEM_NO_UNROLL
    for (int d = 0; d < ndim; ++d) {
      const int64_t rest = wide ? position / long_sizes[d] : sizes[d].quotient(static_cast<uint32_t>(position));
      const int64_t index = position - rest * long_sizes[d];
      for (int k = 0; k < N; ++k) out.at[k] += index * strides[d][k];
      position = rest;
    }
    return out;
  }

  /// Adds a new outermost dimension.
  void push(int64_t size, const int64_t (&steps)[N]) {
    long_sizes[ndim] = size;
    sizes[ndim] = FastDivide(static_cast<uint32_t>(size > 0 && size < (int64_t{1} << 31) ? size : 1));
    for (int k = 0; k < N; ++k) strides[ndim][k] = steps[k];
    ++ndim;
  }
};

}  // namespace tandem::cuda_impl
