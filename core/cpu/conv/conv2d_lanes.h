// Convolution with one image in each vector lane: for batches that fill the lanes and planes that fit in the
// cache.
//
// kLanes images are laid out as [height][width][channels][image]. One output position of all these images is
// then a sum of row-times-vector products along contiguous memory: no columns are built, no lane is wasted at
// edges, and taps in the padding cost nothing. The gradient with respect to the input uses the same loop with
// other taps.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster; depends only on the shape. The same holds for the gradient of the input.
template <class T>
bool lanes_applies(const Conv2dShape& shape);

template <class T>
void lanes_forward(const Conv2dShape& shape, const T* x, const T* w, const T* bias, T* y);

template <class T>
void lanes_backward_input(const Conv2dShape& shape, const T* dy, const T* w, T* dx);

}  // namespace tandem::cpu
