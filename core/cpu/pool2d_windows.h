// Where the windows of pooling are, and what both layouts share.
#pragma once
#include <algorithm>

#include "tandem/core/cpu/pool2d.h"

namespace tandem::cpu {

/// Elements that are summed in one run, for accuracy.
inline constexpr int64_t kMaxRun = 4096;

/// Planes, or rows, per task.
inline int64_t plane_grain(int64_t elements) { return std::max<int64_t>(1, 32768 / std::max<int64_t>(1, elements)); }

/// The window of one output along axis d, clipped to the input, and its length including padding. Without dilation it is
/// not empty, because the padding is at most half of the kernel.
struct Window {
  int64_t begin, end, padded;
};
inline Window window(const Pool2dParameters& p, std::size_t d, int64_t out, int64_t in) {
  const int64_t begin = out * p.stride[d] - p.padding[d], end = std::min(begin + p.kernel[d], in + p.padding[d]);
  return {std::max<int64_t>(begin, 0), std::min(end, in), end - begin};
}

inline int64_t divisor(const Pool2dShape& s, const Window& h, const Window& w) {
  if (s.p.divisor_override != 0) return s.p.divisor_override;
  if (s.p.count_include_pad) return h.padded * w.padded;
  return (h.end - h.begin) * (w.end - w.begin);
}

inline Window adaptive_window(int64_t i, int64_t in, int64_t out) {
  const int64_t begin = i * in / out, end = ((i + 1) * in + out - 1) / out;
  return {begin, end, end - begin};
}

/// The first position >= 0 in a dilated window that begins at `begin`.
inline int64_t first_inside(int64_t begin, int64_t dilation) {
  return begin >= 0 ? begin : begin + (-begin + dilation - 1) / dilation * dilation;
}
/// The same of a window with dilation: positions begin, begin + dilation … before end.
inline Window dilated_window(const Pool2dParameters& p, std::size_t d, int64_t out, int64_t in) {
  const int64_t begin = out * p.stride[d] - p.padding[d], length = (p.kernel[d] - 1) * p.dilation[d] + 1;
  return {first_inside(begin, p.dilation[d]), std::min(begin + length, in), length};
}

/// The forward passes of channels-last tensors, with the same bits as planes.
template <class T>
void average_last(const Pool2dShape& shape, const T* x, T* y);
template <class T>
void adaptive_average_last(const AdaptivePool2dShape& shape, const T* x, T* y);
template <class T>
void maximum_last(const Pool2dShape& shape, const T* x, T* y);

}  // namespace tandem::cpu
