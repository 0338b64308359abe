// Shared code of the backward nodes of reductions.
#pragma once
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// The input's shape and the reduced dimensions.
struct Reduced {
  Dims sizes;  // of the input
  uint32_t mask = 0;
  bool keepdim = false;
  /// Reshapes a tensor of the output's shape so that it expands to the input's shape.
  Tensor restore(const Tensor& t) const { return restore_dims(t, sizes, mask, keepdim); }
  Dims dims() const {
    Dims out;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (mask >> d & 1u) out.push_back(static_cast<int64_t>(d));
    return out;
  }
  int64_t count() const { return reduced_numel(sizes, mask); }
};

/// Records `out` as a selection from `self` in which all equal elements took part: the gradient is shared
/// evenly.
void record_shared(const Tensor& out, const Tensor& self, uint32_t mask, bool keepdim, const char* backward_name);
/// Records `values` as the elements of `self` at `indices` along `dim`, which get the gradient. With keepdim
/// false, that dimension is missing in values and indices.
void record_chosen(const Tensor& values, const Tensor& self, const Tensor& indices, int64_t dim, bool keepdim,
                   const char* backward_name);
/// The variance over `dim` with keepdim, divided by count (not count - 1). `mean` is the mean of self with
/// keepdim and is treated as a constant.
Tensor biased_var(const Tensor& self, const Tensor& mean, IntArrayRef dim);
/// 1 where t equals `value`, else 0, in the dtype of t. Not recorded.
Tensor indicator(const Tensor& t, const Scalar& value);

}  // namespace tandem::autograd
