// The gradient of a convolution with respect to its weights, without columns: a tile is some taps of one input channel
// times two vectors of output channels, summed over the output positions.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape.
template <class T>
bool taps_applies(const Conv2dShape& shape);

template <class T>
void taps_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw);

}  // namespace tandem::cpu
