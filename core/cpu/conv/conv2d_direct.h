// Convolution without columns: one tile of output positions of a row times two vectors of output channels. The tile's
// left operand is read where it lies in the padded input, so that each input is copied once, not once per tap.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape.
template <class T>
bool direct_applies(const Conv2dShape& shape);

template <class T>
void direct_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y,
                    const Conv2dInference<T>& inference);

/// Whether the gradient of the input is efficient as this convolution of dy with the rotated weights.
template <class T>
bool direct_backward_applies(const Conv2dShape& shape);

template <class T>
void direct_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

}  // namespace tandem::cpu
