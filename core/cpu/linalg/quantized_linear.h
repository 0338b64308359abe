// Products with a matrix of int8 values and a scale per group of them.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cpu {

/// LinalgKernels::quantized_linear. The bits of a row of `out` depend on the shapes and arguments, never on the number
/// of threads.
void quantized_linear(const Tensor& out, const Tensor& x, const Tensor& values, const Tensor& scales,
                      const Tensor& bias);

}  // namespace tandem::cpu
