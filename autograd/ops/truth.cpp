// all, any and count_nonzero. Without gradient.
#include "tandem/autograd/ops/reduce_op.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor fold(const Tensor& self, IntArrayRef dim, bool keepdim, const ReduceKernels::Fold& kernel,
            ScalarType type) {
  const uint32_t mask = dim_mask(dim, self.dim());
  Tensor out = empty_raw(reduced_sizes(self.sizes(), mask, true), type, self.device());
  kernel(out, self, mask);
  return drop_dims(out, mask, keepdim);
}
Tensor truth(const Tensor& self, IntArrayRef dim, bool keepdim, const ReduceKernels::Fold& kernel) {
  const Tensor out = fold(self, dim, keepdim, kernel, kBool);
  return self.dtype() == kByte ? out.to(kByte) : out;
}

}  // namespace

Tensor all(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return truth(self, dim, keepdim, backend(self).reduce.all);
}
Tensor all(const Tensor& self) { return all(self, IntArrayRef{}); }
Tensor all(const Tensor& self, int64_t dim, bool keepdim) { return all(self, IntArrayRef(dim), keepdim); }
Tensor any(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return truth(self, dim, keepdim, backend(self).reduce.any);
}
Tensor any(const Tensor& self) { return any(self, IntArrayRef{}); }
Tensor any(const Tensor& self, int64_t dim, bool keepdim) { return any(self, IntArrayRef(dim), keepdim); }
Tensor count_nonzero(const Tensor& self, IntArrayRef dim) {
  return fold(self, dim, false, backend(self).reduce.count_nonzero, kLong);
}

Tensor Tensor::all() const { return tandem::all(*this); }
Tensor Tensor::all(int64_t dim, bool keepdim) const { return tandem::all(*this, dim, keepdim); }
Tensor Tensor::any() const { return tandem::any(*this); }
Tensor Tensor::any(int64_t dim, bool keepdim) const { return tandem::any(*this, dim, keepdim); }
Tensor Tensor::count_nonzero() const { return tandem::count_nonzero(*this); }

}  // namespace tandem
