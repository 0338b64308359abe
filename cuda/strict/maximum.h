// The larger of two numbers, for the folds of cuda/warp.h.
#pragma once
#include "tandem/core/formulas/softmax_rules.h"
#include "tandem/cuda/device.h"

namespace tandem::cuda_impl::strict {

struct Larger {
  template <class T>
  __device__ T operator()(T a, T b) const {
    return softmax_rules::larger(a, b);
  }
};

}  // namespace tandem::cuda_impl::strict
