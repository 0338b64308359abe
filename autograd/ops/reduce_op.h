// What the backward nodes of reductions share.
#pragma once
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/record.h"

namespace tandem::autograd {

/// Which dimensions of what shape were reduced.
struct Reduced {
  Dims sizes;  // of the input
  uint32_t mask = 0;
  bool keepdim = false;
  /// A tensor of the output's shape, expandable to the input's.
  Tensor restore(const Tensor& t) const { return restore_dims(t, sizes, mask, keepdim); }
  Dims dims() const {
    Dims out;
    for (std::size_t d = 0; d < sizes.size(); ++d)
      if (mask >> d & 1u) out.push_back(static_cast<int64_t>(d));
    return out;
  }
  int64_t count() const { return reduced_numel(sizes, mask); }
};

/// Records `out` as elements of `self` that every equal element had a part in: the gradient is shared evenly.
void record_shared(const Tensor& out, const Tensor& self, uint32_t mask, bool keepdim,
                   const char* backward_name);
/// Records `values` as the elements of `self` at `indices` along `dim`: the gradient goes there. keepdim
/// false: that dimension is missing in values and indices.
void record_chosen(const Tensor& values, const Tensor& self, const Tensor& indices, int64_t dim, bool keepdim,
                   const char* backward_name);
/// The variance over `dim`, undivided by count - 1, with keepdim; mean: that of self, constant here, with
/// keepdim.
Tensor biased_var(const Tensor& self, const Tensor& mean, IntArrayRef dim);
/// 1 where t equals `value`, else 0, in t's dtype; not recorded.
Tensor indicator(const Tensor& t, const Scalar& value);

}  // namespace tandem::autograd
