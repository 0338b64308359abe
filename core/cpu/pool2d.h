// 2-d average and maximum pooling and their gradients on raw contiguous memory [planes, in_h, in_w], or in the forward
// passes without indices [images, in_h, in_w, channels], float and double, with PyTorch's rules for ceil_mode, count_include_pad and divisor_override. A plane is one
// channel of one image. Callers have checked the shape: out_h(), out_w() >= 1.
#pragma once
#include <cstdint>

#include "tandem/core/backend/sliding_windows.h"

namespace tandem::cpu {

struct Pool2dShape {
  int64_t planes = 0, in_h = 0, in_w = 0;
  Pool2dParameters p;
  int64_t channels = 0;  ///< of channels-last memory, otherwise 0

  int64_t out_h() const { return p.out_size(0, in_h); }
  int64_t out_w() const { return p.out_size(1, in_w); }
};

/// y [planes, out_h, out_w].
template <class T>
void avg_pool2d_forward(const Pool2dShape& shape, const T* x, T* y);
/// dx [planes, in_h, in_w]; overwrites dx.
template <class T>
void avg_pool2d_backward(const Pool2dShape& shape, const T* dy, T* dx);

/// y and indices [planes, out_h, out_w]: the maximum and its position in the plane, h * in_w + w (the first
/// of equal elements; the last NaN, as in PyTorch). indices may be null.
template <class T>
void max_pool2d_forward(const Pool2dShape& shape, const T* x, T* y, int64_t* indices);
/// dx [planes, in_h, in_w]: dy summed at its indices; overwrites dx.
template <class T>
void max_pool2d_backward(const Pool2dShape& shape, const T* dy, const int64_t* indices, T* dx);
/// out [planes, out_h, out_w]: g [planes, in_h, in_w] read at the indices.
template <class T>
void max_pool2d_gather(const Pool2dShape& shape, const T* g, const int64_t* indices, T* out);

/// Adaptive average pooling: the window of output i is [floor(i * in / out), ceil((i + 1) * in / out)).
struct AdaptivePool2dShape {
  int64_t planes = 0, in_h = 0, in_w = 0, out_h = 0, out_w = 0;
  int64_t channels = 0;
};
template <class T>
void adaptive_avg_pool2d_forward(const AdaptivePool2dShape& shape, const T* x, T* y);
template <class T>
void adaptive_avg_pool2d_backward(const AdaptivePool2dShape& shape, const T* dy, T* dx);

}  // namespace tandem::cpu
