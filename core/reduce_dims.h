// A reduction's dimensions, sorted and merged: what every backend plans by.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

struct ReduceDims {
  struct Dim {
    int64_t size, in, out;  ///< strides in the input and, kept dimensions only, in the output
  };
  Dim reduced[kMaxDims], kept[kMaxDims];  ///< outermost first; sizes are not 1
  int reduced_count = 0, kept_count = 0;
  int64_t elements = 1, outputs = 1;  ///< reduced elements of one output; outputs
  /// The last kept dimension lies closer in memory than the last reduced one.
  bool outer = false;
};

/// `out` has the shape of `in` with 1 in the dimensions of `mask`, any strides.
ReduceDims make_reduce_dims(const Tensor& out, const Tensor& in, uint32_t mask);
/// How many elements of `in` are folded into one.
int64_t reduced_elements(const Tensor& in, uint32_t mask);

}  // namespace tandem
