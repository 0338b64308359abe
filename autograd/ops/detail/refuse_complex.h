// For operations on real numbers that are composed of others, which also take complex ones.
// Internal to their sources.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Throws Error if one of the tensors is complex. Undefined tensors are not.
template <class... Tensors>
void refuse_complex(const char* operation, const Tensors&... tensors) {
  for (const Tensor* t : {&tensors...})
    if (t->defined() && t->is_complex()) fail(operation, ": not implemented for ", t->dtype());
}

}  // namespace tandem::autograd
