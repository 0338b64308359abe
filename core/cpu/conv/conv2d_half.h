// Convolutions of bfloat16 where the processor multiplies pairs (tile_kernel): by the methods of conv2d.h, with a pair in
// place of each float. Sums are float32, an element of a result is rounded once. Pointers and shapes as in conv2d.h.
#pragma once
#include "tandem/core/conv_epilogue.h"
#include "tandem/core/cpu/conv/conv2d.h"
#include "tandem/core/dtype.h"

namespace tandem::cpu {

/// Whether pairs can be multiplied, and the products outweigh the packing. Everything else is converted to float32.
bool pair_conv_fits(ScalarType type, const Conv2dShape& shape);

void pair_conv_forward(const Conv2dShape& shape, const uint16_t* x, const ConvWeight<uint16_t>& w, uint16_t* y,
                       const ConvEpilogue<const uint16_t*>& epilogue);
void pair_conv_backward_input(const Conv2dShape& shape, const uint16_t* dy, const uint16_t* w, uint16_t* dx);
/// One image alone takes as long as in float32, unless the kernel is 1 x 1.
void pair_conv_backward_weight(const Conv2dShape& shape, const uint16_t* x, const uint16_t* dy, uint16_t* dw);

}  // namespace tandem::cpu
