// Layer and batch normalisation, for host and device: how their sums are cut, and what is made of the sums.
#pragma once
#include <cmath>
#include <cstdint>

#include "tandem/core/base/host_device.h"

namespace tandem {

inline constexpr int64_t kNormRun = 4096;      ///< contiguous elements summed at once
inline constexpr int64_t kNormGroups = 32;     ///< of rows: partial sums of the gradients of layer_norm's parameters
inline constexpr int kNormGradientLanes = 16;  ///< of the sums of batch_norm's gradients, of all types

/// The statistics of a row of n elements (core/backend/layer_norm.h): from its mean, and from the sums of the distances
/// to it and of their squares.
template <class T>
TANDEM_HD inline void store_row_statistics(T* statistics, T mean, T sum, T squares, T n, T eps) {
  const T off = sum / n, centred = squares / n - off * off, variance = centred > T(0) ? centred : T(0);
  statistics[0] = mean;
  statistics[1] = off;
  // The limit drops a NaN, which must stay.
  statistics[2] = T(1) / std::sqrt((squares != squares ? squares : variance) + eps);
}

/// The statistics of a channel of `count` elements: from its rounded mean, and from the sums of the distances to it and
/// of their squares.
template <class T>
TANDEM_HD inline void store_batch_statistics(T* mean, T* variance, T rounded, double sum, double squares,
                                             double count) {
  const double off = sum / count, square = squares / count, centred = square - off * off;
  *mean = static_cast<T>(static_cast<double>(rounded) + off);
  *variance = static_cast<T>(centred < 0 ? 0 : centred == centred ? centred : square);
}

}  // namespace tandem
