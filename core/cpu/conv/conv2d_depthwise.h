// Convolution with one input channel per group (depthwise): multiplies shifted rows by the taps. Only the
// padding requires packing.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

bool depthwise_applies(const Conv2dShape& shape);
template <class T>
void depthwise_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

/// For the gradient of the input: stride 1, one output channel per group.
bool depthwise_backward_applies(const Conv2dShape& shape);
template <class T>
void depthwise_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

/// For the gradient of the weights: stride 1 along rows.
bool depthwise_weight_applies(const Conv2dShape& shape);
template <class T>
void depthwise_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);

}  // namespace tandem::cpu
