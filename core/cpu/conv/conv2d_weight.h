// The gradient of a convolution with respect to its weights, without columns.
//
// Images are laid out as [height][width][channels] with their padding, gradients of the output as
// [place][channels]. The inputs of one output position that belong to one kernel row are then contiguous, and
// vectors of them are multiplied by the output channels in register tiles.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"

namespace tandem::cpu {

/// Whether this method is faster than columns; depends only on the shape.
template <class T>
bool weight_rows_applies(const Conv2dShape& shape);

/// If db is given, may compute the gradient of the bias too; returns whether it did.
template <class T>
bool weight_rows(const Conv2dShape& shape, const T* x, const T* dy, T* dw, T* db);

}  // namespace tandem::cpu
