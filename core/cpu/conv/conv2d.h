// 2-d convolution (cross-correlation) and its three gradients on raw contiguous NCHW memory, float and
// double.
//
//   y[n, o, p, q] = bias[o] + sum over c, r, s of w[o, c, r, s]
//                   * x[n, group(o) * C/groups + c, p * stride[0] - padding[0] + r * dilation[0],
//                       q * stride[1] - padding[1] + s * dilation[1]]
//
// Weights are [out_channels, in_channels / groups, kernel_h, kernel_w]; elements outside x count as zero. Callers have
// checked the shape: no size is 0, and groups divides both channel counts.
// core/cpu/sum_order.h has the order of sums: methods differ in speed alone, but for the gradient of the weights, a
// sum over the batch.
#pragma once
#include <cstdint>

#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/conv_epilogue.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem::cpu {

struct Conv2dShape {
  int64_t batch = 0, in_channels = 0, in_h = 0, in_w = 0;
  int64_t out_channels = 0, kernel_h = 1, kernel_w = 1;
  Conv2dParameters p;
  /// x and dy hold two bfloat16 in place of each float (tile_kernel): of two channels that are summed over or, in the
  /// gradient of the weights, of two images or positions. The sizes count pairs.
  bool pairs = false;
  /// Whether x and y (and their gradients) are [batch, h, w, channels]; only kDepthwise and kDirect can compute it.
  bool channels_last = false;
  /// Whether x is planes all the same; only kDirect can compute it.
  bool planes_in = false;
  bool last_in() const { return channels_last && !planes_in; }

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

  /// Whether each output sees one position of the input, its own.
  bool is_pointwise() const {
    return kernel_size() == 1 && p.stride[0] == 1 && p.stride[1] == 1 && p.padding[0] == 0 && p.padding[1] == 0;
  }
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

/// How a convolution or one of its gradients is computed. Each method has one source, which says what it is for.
enum class ConvMethod { kDepthwise, kShallow, kLanes, kDirect, kChannels, kColumns, kRows };
inline constexpr ConvMethod kConvMethods[] = {ConvMethod::kDepthwise, ConvMethod::kShallow,  ConvMethod::kLanes,
                                              ConvMethod::kDirect,    ConvMethod::kChannels, ConvMethod::kColumns,
                                              ConvMethod::kRows};

/// The name of the method's source, which a profile shows.
const char* name_of(ConvMethod method);

/// Whether a method can compute the output, or the gradient of the input or the weights, of a convolution of this
/// shape.
template <class T>
bool can_forward(ConvMethod method, const Conv2dShape& shape);
template <class T>
bool can_backward_input(ConvMethod method, const Conv2dShape& shape);
template <class T>
bool can_backward_weight(ConvMethod method, const Conv2dShape& shape);
/// The one that is used: the first rule that applies. The choice depends on the shape alone, not on the number of threads.
template <class T>
ConvMethod choose_forward(const Conv2dShape& shape);
template <class T>
ConvMethod choose_backward_input(const Conv2dShape& shape);
template <class T>
ConvMethod choose_backward_weight(const Conv2dShape& shape);

/// The output of a convolution of pairs, which takes the place of y and the epilogue's residual: rounded to bfloat16.
struct RoundedOutput {
  uint16_t* y = nullptr;
  const uint16_t* residual = nullptr;
};

template <class T>
struct Epilogue {
  const T *bias = nullptr, *residual = nullptr;
  FusedActivation activation = FusedActivation::kIdentity;
  RoundedOutput rounded{};
};

/// The weights of a convolution, and where their packed copy may be kept between calls: in `kept`, if given, for the
/// tensor whose memory `data` is.
template <class T>
struct ConvWeight {
  const T* data;
  KeptWeight* kept = nullptr;
  const Tensor* tensor = nullptr;
  /// Whether `data` belongs to the convolution whose gradient turned() computes: [groups][O / groups][C / groups][taps].
  bool turned = false;
  /// The weights of a convolution of pairs, in place of data: [out_channels][half_depth] bfloat16. Number i of a row is
  /// paired with number shape.depth() + i, or with 0.
  const uint16_t* halves = nullptr;
  int64_t half_depth = 0;
};

/// y [batch, out_channels, out_h, out_w].
template <class T>
void conv2d_forward(ConvMethod method, const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y,
                    const Epilogue<T>& epilogue);
/// dx [batch, in_channels, in_h, in_w] from dy and w; overwrites dx.
template <class T>
void conv2d_backward_input(ConvMethod method, const Conv2dShape& shape, const T* dy, const T* w, T* dx);
/// dw from x and dy; overwrites dw. If db is given, also computes the gradient of the bias, usually at no
/// extra cost; it may differ in the last bits from the result of conv2d_backward_bias.
template <class T>
void conv2d_backward_weight(ConvMethod method, const Conv2dShape& shape, const T* x, const T* dy, T* dw,
                            T* db = nullptr);
/// db [out_channels]: the sum of dy over batch, rows and columns; overwrites db.
template <class T>
void conv2d_backward_bias(const Conv2dShape& shape, const T* dy, T* db);

// The methods, for shapes that they can compute. Where the epilogue is marked `bias`, its rest is not applied.
template <class T>
void depthwise_forward(const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e);
template <class T>
void shallow_forward(const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& bias);
template <class T>
void lanes_forward(const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& bias);
template <class T>
void direct_forward(const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e);
template <class T>
void columns_forward(const Conv2dShape& shape, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e);

template <class T>
void depthwise_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);
/// Unless shape.turns(), where columns_forward computes it.
template <class T>
void columns_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

template <class T>
void shallow_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);
template <class T>
void channels_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);
template <class T>
void columns_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);
/// Returns whether it has also computed db, if given.
template <class T>
bool rows_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);

}  // namespace tandem::cpu
