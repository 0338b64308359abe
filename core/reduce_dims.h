// The dimensions of a reduction, sorted and merged; both backends plan by them.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

struct ReduceDims {
  struct Dim {
    int64_t size, in, out;  ///< strides in the input and, for kept dimensions only, in the output
  };
  Dim reduced[kMaxDims], kept[kMaxDims];  ///< outermost first; no size is 1
  int reduced_count = 0, kept_count = 0;
  int64_t elements = 1, outputs = 1;  ///< reduced elements per output; number of outputs
  /// The last kept dimension has a smaller stride than the last reduced one.
  bool outer = false;
};

/// `out` has the shape of `in`, with 1 in the dimensions of `mask`; its strides may be anything.
ReduceDims make_reduce_dims(const Tensor& out, const Tensor& in, uint32_t mask);
/// The reduced elements in a block of the outer layout, which strict sums are folded by: more of narrow rows, of which
/// several are folded at once. `width`: the size of the last kept dimension.
int64_t outer_block(int64_t width);
/// Number of elements reduced into one output.
int64_t reduced_elements(IntArrayRef sizes, uint32_t mask);

}  // namespace tandem
