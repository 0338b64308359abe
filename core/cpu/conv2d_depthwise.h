// Convolution with one input channel a group (depthwise): taps times shifted rows, nothing is packed but the
// padding.
#pragma once
#include "tandem/core/cpu/conv2d.h"

namespace tandem::cpu {

bool depthwise_suits(const Conv2dShape& shape);
template <class T>
void depthwise_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

/// The gradient of the input: stride 1, one output channel a group.
bool depthwise_backward_suits(const Conv2dShape& shape);
template <class T>
void depthwise_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

/// The gradient of the weights: stride 1 along rows.
bool depthwise_weight_suits(const Conv2dShape& shape);
template <class T>
void depthwise_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);

}  // namespace tandem::cpu
