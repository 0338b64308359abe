// Matrix products.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// [M, K] x [K, N] → [M, N]. Throws Error on other ranks, inner sizes, dtypes or devices that differ.
Tensor mm(const Tensor& self, const Tensor& other);

}  // namespace tandem
