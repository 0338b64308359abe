// all, any and count_nonzero, which have no gradient.
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor fold(const Tensor& self, IntArrayRef dim, bool keepdim, const KernelFunction<ReduceKernels::Fold>& kernel,
            ScalarType type) {
  if (self.is_complex()) return fold(self.detach().to(kBool), dim, keepdim, kernel, type);
  const uint32_t mask = dim_mask(dim, self.dim());
  Tensor out = empty_raw(reduced_sizes(self.sizes(), mask, true), type, self.device());
  kernel(out, self, mask);
  return drop_dims(out, mask, keepdim);
}
Tensor as_truth(const Tensor& result, const Tensor& self) { return self.dtype() == kByte ? result.to(kByte) : result; }
Tensor truth(const Tensor& self, IntArrayRef dim, bool keepdim, const KernelFunction<ReduceKernels::Fold>& kernel) {
  return as_truth(fold(self, dim, keepdim, kernel, kBool), self);
}

}  // namespace

Tensor all(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return dim.empty() ? as_truth(self != 0, self) : truth(self, dim, keepdim, backend(self).reduce.all);
}
Tensor all(const Tensor& self) { return truth(self, {}, false, backend(self).reduce.all); }
Tensor all(const Tensor& self, int64_t dim, bool keepdim) { return all(self, IntArrayRef(dim), keepdim); }
Tensor any(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return dim.empty() ? as_truth(self != 0, self) : truth(self, dim, keepdim, backend(self).reduce.any);
}
Tensor any(const Tensor& self) { return truth(self, {}, false, backend(self).reduce.any); }
Tensor any(const Tensor& self, int64_t dim, bool keepdim) { return any(self, IntArrayRef(dim), keepdim); }
Tensor count_nonzero(const Tensor& self, IntArrayRef dim) {
  return fold(self, dim, false, backend(self).reduce.count_nonzero, kLong);
}

Tensor Tensor::all() const { return tandem::all(*this); }
Tensor Tensor::all(int64_t dim, bool keepdim) const { return tandem::all(*this, dim, keepdim); }
Tensor Tensor::any() const { return tandem::any(*this); }
Tensor Tensor::any(int64_t dim, bool keepdim) const { return tandem::any(*this, dim, keepdim); }
Tensor Tensor::count_nonzero() const { return tandem::count_nonzero(*this); }

Tensor Tensor::all(IntArrayRef dim, bool keepdim) const { return tandem::all(*this, dim, keepdim); }
Tensor Tensor::any(IntArrayRef dim, bool keepdim) const { return tandem::any(*this, dim, keepdim); }
Tensor Tensor::count_nonzero(IntArrayRef dim) const { return tandem::count_nonzero(*this, dim); }

}  // namespace tandem
