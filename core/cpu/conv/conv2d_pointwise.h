// Convolution with a 1 x 1 kernel and stride 1. The planes of the input are themselves the right operand of the
// product, so that nothing but the weights is copied.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape. The same holds for the gradient of the input.
template <class T>
bool pointwise_applies(const Conv2dShape& shape);

template <class T>
void pointwise_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y,
                       const Conv2dInference<T>& inference);

template <class T>
void pointwise_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

}  // namespace tandem::cpu
