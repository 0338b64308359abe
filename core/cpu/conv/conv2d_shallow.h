// Convolution with few products per output (for example, one input channel). Columns of a few output rows
// stay in the L1 cache and are multiplied in place, without packing.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape.
template <class T>
bool shallow_applies(const Conv2dShape& shape);

template <class T>
void shallow_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

/// Also computes the gradient of the bias in db, if given.
template <class T>
void shallow_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);

}  // namespace tandem::cpu
