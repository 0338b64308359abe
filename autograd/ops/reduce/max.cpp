// max and min along one dimension with indices; argmax, argmin. Gradient: g at the index.
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

std::tuple<Tensor, Tensor> find(const Tensor& self, int64_t dim, bool keepdim,
                                const KernelFunction<ReduceKernels::FoldIndex>& kernel, const char* name,
                                const char* backward_name) {
  refuse_complex(name, self);
  dim = wrap_dim(dim, self.dim());
  const uint32_t mask = 1u << dim;
  const Dims sizes = reduced_sizes(self.sizes(), mask, true);
  Tensor values = empty_raw(sizes, self.dtype(), self.device());
  Tensor indices = empty_raw(sizes, kLong, self.device());
  check(self.numel() != 0 || values.numel() == 0, name, ": dimension ", dim, " must not be empty, got ", self);
  kernel(values, indices, self, dim);
  values = drop_dims(values, mask, keepdim);
  indices = drop_dims(indices, mask, keepdim);
  record_chosen(values, self, indices, dim, keepdim, backward_name);
  return {std::move(values), std::move(indices)};
}

Tensor find_index(const Tensor& self, optional<int64_t> dim, bool keepdim,
                  const KernelFunction<ReduceKernels::FoldIndex>& kernel, const char* name) {
  NoGradGuard no_grad;
  if (dim) return std::get<1>(find(self.detach(), *dim, keepdim, kernel, name, ""));
  Tensor out = std::get<1>(find(self.detach().reshape({-1}), 0, false, kernel, name, ""));
  return keepdim ? out.view(Dims(self.sizes().size(), 1)) : out;
}

}  // namespace

std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim) {
  return find(self, dim, keepdim, backend(self).reduce.max_index, "max", "MaxBackward");
}
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim) {
  return find(self, dim, keepdim, backend(self).reduce.min_index, "min", "MinBackward");
}
Tensor argmax(const Tensor& self, optional<int64_t> dim, bool keepdim) {
  return find_index(self, dim, keepdim, backend(self).reduce.max_index, "argmax");
}
Tensor argmin(const Tensor& self, optional<int64_t> dim, bool keepdim) {
  return find_index(self, dim, keepdim, backend(self).reduce.min_index, "argmin");
}
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const { return tandem::max(*this, dim, keepdim); }
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const { return tandem::min(*this, dim, keepdim); }
Tensor Tensor::argmax(optional<int64_t> dim, bool keepdim) const { return tandem::argmax(*this, dim, keepdim); }
Tensor Tensor::argmin(optional<int64_t> dim, bool keepdim) const { return tandem::argmin(*this, dim, keepdim); }

}  // namespace tandem
