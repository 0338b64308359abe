// Convolution where few products stand behind an output (one input channel, say): columns of a few output
// rows stay in the first-level cache and are multiplied in place, packed nowhere.
#pragma once
#include "tandem/core/cpu/conv2d.h"

namespace tandem::cpu {

/// Whether this way is the faster one; depends on the shape alone.
template <class T>
bool shallow_suits(const Conv2dShape& shape);

template <class T>
void shallow_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

/// Sums the gradient of the bias into db too, if given.
template <class T>
void shallow_backward_weight(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);

}  // namespace tandem::cpu
