// 2-d convolution (cross-correlation) and its three gradients on raw contiguous NCHW memory, float and
// double.
//
//   y[n, o, p, q] = bias[o] + sum over c, r, s of w[o, c, r, s]
//                   * x[n, group(o) * C/groups + c, p * stride[0] - padding[0] + r * dilation[0],
//                       q * stride[1] - padding[1] + s * dilation[1]]
//
// Weights are [out_channels, in_channels / groups, kernel_h, kernel_w]; elements outside x count as zero.
// Callers have checked the shape: groups divides both channel counts. The bits of every result depend only on shape
// and data, never on the number of threads.
#pragma once
#include <cstdint>

#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem::cpu {

struct Conv2dShape {
  int64_t batch = 0, in_channels = 0, in_h = 0, in_w = 0;
  int64_t out_channels = 0, kernel_h = 1, kernel_w = 1;
  Conv2dParameters p;

  int64_t out_h() const { return p.out_size(0, in_h, kernel_h); }
  int64_t out_w() const { return p.out_size(1, in_w, kernel_w); }
  int64_t padded_h() const { return in_h + 2 * p.padding[0]; }
  int64_t padded_w() const { return in_w + 2 * p.padding[1]; }
  int64_t group_in() const { return in_channels / p.groups; }
  int64_t group_out() const { return out_channels / p.groups; }
  int64_t in_plane() const { return in_h * in_w; }
  int64_t out_plane() const { return out_h() * out_w(); }
  int64_t kernel_size() const { return kernel_h * kernel_w; }
  /// Multiplications per output element.
  int64_t depth() const { return group_in() * kernel_size(); }

  /// Whether the gradient of the input is itself a convolution, turned(), of dy with the rotated weights.
  bool turns() const {
    return p.stride[0] == 1 && p.stride[1] == 1 && p.padding[0] <= p.dilation[0] * (kernel_h - 1) &&
           p.padding[1] <= p.dilation[1] * (kernel_w - 1);
  }
  /// Whether that is also efficient: dy is not much smaller than x.
  bool turns_well() const { return turns() && in_plane() * 4 <= out_plane() * 5; }
  Conv2dShape turned() const {
    Conv2dShape shape = *this;
    shape.in_channels = out_channels, shape.out_channels = in_channels;
    shape.in_h = out_h(), shape.in_w = out_w();
    shape.p.padding = {p.dilation[0] * (kernel_h - 1) - p.padding[0], p.dilation[1] * (kernel_w - 1) - p.padding[1]};
    return shape;
  }
};

/// What a convolution in inference may also do.
template <class T>
struct Conv2dInference {
  const T* residual = nullptr;     // added to y if given; as large as y, and apart from it
  bool relu = false;               // at last, y = max(y, 0)
  KeptWeight* kept = nullptr;      // for the packed weights, if given
  const Tensor* weight = nullptr;  // then the tensor whose memory w is
};

/// y [batch, out_channels, out_h, out_w]; bias [out_channels] or null. `inference` changes what y is as additions and
/// relus of the whole y would, to the bit.
template <class T>
void conv2d_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y,
                    const Conv2dInference<T>& inference = {});

/// dx [batch, in_channels, in_h, in_w] from dy and w; overwrites dx.
template <class T>
void conv2d_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

/// dw from x and dy; overwrites dw. If db is given, also computes the gradient of the bias, usually at no
/// extra cost; it may differ in the last bits from the result of conv2d_backward_bias.
template <class T>
void conv2d_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db = nullptr);

/// db [out_channels]: the sum of dy over batch, rows and columns; overwrites db.
template <class T>
void conv2d_backward_bias(const Conv2dShape& shape, const T* dy, T* db);

}  // namespace tandem::cpu
