// What a convolution does with each of its sums while it is in the cache.
#pragma once

namespace tandem {

/// Adds a bias [O], then a residual of the output's shape, each if given, and last applies a relu: the same bits as
/// passes over the whole output. Array: Tensor, or a pointer to its elements.
template <class Array>
struct ConvEpilogue {
  Array bias{}, residual{};
  bool relu = false;
};

}  // namespace tandem
