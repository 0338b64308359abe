// tril and triu.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Elements on and below (above) the given diagonal of the last two dimensions, else 0; diagonal 1 lies above
/// the main one.
Tensor tril(const Tensor& self, int64_t diagonal = 0);
Tensor triu(const Tensor& self, int64_t diagonal = 0);

}  // namespace tandem
