// Convolution of any shape as a matrix product whose right side, the columns, is made panel by panel in the
// cache and never exists as a whole.
#pragma once
#include "tandem/core/cpu/conv2d.h"

namespace tandem::cpu {

template <class T>
void columns_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

/// Whether the gradient of the input is well computed as a convolution of dy with the turned weights: stride
/// 1, and dy not much smaller than x.
bool columns_backward_suits(const Conv2dShape& shape);

template <class T>
void columns_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

}  // namespace tandem::cpu
