// Internal: the resampling of planes in memory.
#pragma once
#include <cstdint>

#include "tandem/datasets/vision/functional.h"

namespace tandem::vision::detail {

/// `to` [planes, to_height, to_width] from `from` [planes, height, width], both contiguous, T uint8_t or float. All sizes
/// are at least 1.
template <class T>
void resample(T* to, int64_t to_height, int64_t to_width, const T* from, int64_t planes, int64_t height,
              int64_t width, InterpolationMode mode);

}  // namespace tandem::vision::detail
