// The gradient of a convolution with respect to its weights, without columns.
//
// Images are laid out as [height][width][channels] with their padding, gradients of the output as
// [place][channels]: the inputs of one output place that belong to one kernel row then lie side by side, and
// vectors of them are multiplied by the output channels in register tiles.
#pragma once
#include "tandem/core/cpu/conv2d.h"

namespace tandem::cpu {

/// Whether this way is faster than columns; depends on the shape alone.
template <class T>
bool weight_rows_suit(const Conv2dShape& shape);

/// Given db, sums the gradient of the bias into it too, and returns whether it did.
template <class T>
bool weight_rows(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);

}  // namespace tandem::cpu
