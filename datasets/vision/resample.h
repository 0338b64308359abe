// Internal: the resampling of planes in memory.
#pragma once
#include <cstdint>

#include "tandem/datasets/vision/functional.h"

namespace tandem::vision::detail {

/// Of an axis that is resampled to `size` pixels, `count` from `first` on.
struct Axis {
  int64_t size, first, count;
  bool is_all_of(int64_t length) const { return size == length && count == length; }
};

/// `to` [planes, to_rows.count, to_columns.count] from `from` [planes, height, width], both contiguous, T uint8_t or
/// float. All sizes are at least 1. The pixels do not depend on which part is made.
template <class T>
void resample(T* to, const Axis& to_rows, const Axis& to_columns, const T* from, int64_t planes, int64_t height,
              int64_t width, InterpolationMode mode);

}  // namespace tandem::vision::detail
