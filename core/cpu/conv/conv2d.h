// 2-d convolution (cross-correlation) and its three gradients on raw contiguous NCHW memory, float and
// double.
//
//   y[n, o, p, q] = bias[o] + sum over c, r, s of w[o, c, r, s]
//                   * x[n, group(o) * C/groups + c, p * stride[0] - padding[0] + r * dilation[0],
//                       q * stride[1] - padding[1] + s * dilation[1]]
//
// Weights are [out_channels, in_channels / groups, kernel_h, kernel_w]; elements outside x count as zero. Callers have
// checked the shape: no size is 0, and groups divides both channel counts.
// core/formulas/sum_order.h has the order of sums: methods differ in speed alone, but for the gradient of the weights, a
// sum over the batch.
#pragma once
#include <cstdint>

#include "tandem/core/conv_epilogue.h"
#include "tandem/core/formulas/conv2d_order.h"
#include "tandem/core/memory/kept_weight.h"

namespace tandem::cpu {

using tandem::Conv2dShape, tandem::ConvMethod;
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
using conv2d_order::choose_backward_weight, conv2d_order::WeightSum;

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
