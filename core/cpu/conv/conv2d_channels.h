// Convolution as products with all positions of all images together: for few output positions and many channels, as in
// the last stages of a network. There the planes do not fill whole vectors, and the weights are most of the data: they
// are packed piece by piece, and multiplied while they are in the cache.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape. The three are independent.
template <class T>
bool channels_applies(const Conv2dShape& shape);
template <class T>
bool channels_backward_applies(const Conv2dShape& shape);
template <class T>
bool channels_weight_applies(const Conv2dShape& shape);

template <class T>
void channels_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y,
                      const Conv2dInference<T>& inference);
template <class T>
void channels_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);
template <class T>
void channels_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);

}  // namespace tandem::cpu
