// amax, amin, max and min of a whole tensor. Gradient: g shared evenly by the elements equal to the extreme
// value.
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor extreme(const Tensor& self, IntArrayRef dim, bool keepdim, const KernelFunction<ReduceKernels::Fold>& kernel,
               const char* name, const char* backward_name) {
  const uint32_t mask = dim_mask(dim, self.dim());
  Tensor out = empty_raw(reduced_sizes(self.sizes(), mask, true), self.dtype(), self.device());
  check(self.numel() != 0 || out.numel() == 0, name, ": expected a tensor with elements, got ", self);
  kernel(out, self, mask);
  out = drop_dims(out, mask, keepdim);
  record_shared(out, self, mask, keepdim, backward_name);
  return out;
}

}  // namespace

Tensor amax(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(self, dim, keepdim, backend(self).reduce.amax, "amax", "AmaxBackward");
}
Tensor amin(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return extreme(self, dim, keepdim, backend(self).reduce.amin, "amin", "AminBackward");
}
Tensor max(const Tensor& self) { return extreme(self, {}, false, backend(self).reduce.amax, "max", "MaxBackward"); }
Tensor min(const Tensor& self) { return extreme(self, {}, false, backend(self).reduce.amin, "min", "MinBackward"); }
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, optional<int64_t> dim, bool keepdim) {
  const IntArrayRef dims = dim ? IntArrayRef(*dim) : IntArrayRef();
  return {tandem::amin(self, dims, keepdim), tandem::amax(self, dims, keepdim)};
}
Tensor Tensor::amax(IntArrayRef dim, bool keepdim) const { return tandem::amax(*this, dim, keepdim); }
Tensor Tensor::amin(IntArrayRef dim, bool keepdim) const { return tandem::amin(*this, dim, keepdim); }
Tensor Tensor::max() const { return tandem::max(*this); }
Tensor Tensor::min() const { return tandem::min(*this); }

}  // namespace tandem
