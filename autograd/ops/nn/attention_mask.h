// Masks of attention.
#pragma once
#include <limits>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem::autograd {

/// A mask as numbers to add to scores like `like`: 0 where a bool mask is true, -infinity elsewhere; numbers unchanged.
inline Tensor additive_mask(const Tensor& mask, const Tensor& like) {
  if (!mask.defined() || mask.dtype() != kBool) return mask;
  NoGradGuard no_grad;
  return full(mask.sizes(), -std::numeric_limits<double>::infinity(), like.options().requires_grad(false))
      .masked_fill(mask, 0);
}

}  // namespace tandem::autograd
