// Convolutions of float16 and bfloat16 with float32 sums, as matrix products with columns. An element of a result is
// rounded once. Pointers and shapes as in conv2d.h.
#pragma once
#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/dtype.h"

namespace tandem::cpu {

/// Whether the products outweigh the packing; other shapes are converted to float32 for the methods of conv2d.h.
bool half_conv_fits(const Conv2dShape& shape);

using HalfEpilogue = ConvEpilogue<const uint16_t*>;

void half_conv_forward(ScalarType type, const Conv2dShape& shape, const uint16_t* x, const ConvWeight<uint16_t>& w,
                       uint16_t* y, const HalfEpilogue& epilogue);
void half_conv_backward_input(ScalarType type, const Conv2dShape& shape, const uint16_t* dy, const uint16_t* w,
                              uint16_t* dx);
void half_conv_backward_weight(ScalarType type, const Conv2dShape& shape, const uint16_t* x, const uint16_t* dy,
                               uint16_t* dw);

}  // namespace tandem::cpu
