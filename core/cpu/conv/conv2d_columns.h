// Convolution of any shape as a matrix product. The right operand, the columns, is built panel by panel in
// the cache and never exists as a whole.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

template <class T>
void columns_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y,
                     const Conv2dInference<T>& inference);

/// For shapes that turn.
template <class T>
void columns_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

}  // namespace tandem::cpu
