// 2-d average and maximum pooling and their gradients on raw contiguous memory [planes, in_h, in_w], float
// and double, with PyTorch's rules for ceil_mode, count_include_pad and divisor_override. A plane is one
// channel of one image. Callers have checked the shape: kernel, stride and dilation >= 1, 0 <= pad <= kernel
// / 2, out_h(), out_w() >= 1.
#pragma once
#include <cstdint>

namespace tandem::cpu {

struct Pool2dShape {
  int64_t planes = 0, in_h = 0, in_w = 0;
  int64_t kernel_h = 1, kernel_w = 1, stride_h = 1, stride_w = 1, pad_h = 0, pad_w = 0;
  int64_t dilation_h = 1, dilation_w = 1;  // maximum only
  bool ceil_mode = false;
  bool count_include_pad = true;  // average only
  int64_t divisor_override = 0;   // average only; 0: the size of the window

  int64_t out_h() const { return out_size(in_h, kernel_h, stride_h, pad_h, dilation_h); }
  int64_t out_w() const { return out_size(in_w, kernel_w, stride_w, pad_w, dilation_w); }

 private:
  int64_t out_size(int64_t in, int64_t kernel, int64_t stride, int64_t pad, int64_t dilation) const;
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
};
template <class T>
void adaptive_avg_pool2d_forward(const AdaptivePool2dShape& shape, const T* x, T* y);
template <class T>
void adaptive_avg_pool2d_backward(const AdaptivePool2dShape& shape, const T* dy, T* dx);

}  // namespace tandem::cpu
