// tril and triu.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Keeps the elements on and below (above) the given diagonal of the last two dimensions; the others become
/// 0. Diagonal 1 is above the main one.
Tensor tril(const Tensor& self, int64_t diagonal = 0);
Tensor triu(const Tensor& self, int64_t diagonal = 0);

}  // namespace tandem
