// Elementwise functions of one tensor. The output has the input's shape; forms ending in _ write in place.
// Functions with real values convert integer and bool tensors to the default dtype.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

Tensor neg(const Tensor& self);
Tensor exp(const Tensor& self);
/// max(self, 0); any numeric dtype.
Tensor relu(const Tensor& self);

}  // namespace tandem
