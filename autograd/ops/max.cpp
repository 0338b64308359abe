// max and min along one dimension with indices; argmax, argmin. Gradient: g at the index.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend.h"

namespace tandem {
namespace {
using namespace autograd;

struct MaxDimBackward final : Node {
  const char* name() const override { return backward_name; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = restore_dims(index.unpack(*this), sizes, 1u << dim, keepdim);
    Dims line(sizes.size(), 1);
    if (!sizes.empty()) line[static_cast<std::size_t>(dim)] = sizes[static_cast<std::size_t>(dim)];
    const Tensor chosen = arange(checked_numel(line), at.options()).view(line) == at;
    out[0] = restore_dims(g[0], sizes, 1u << dim, keepdim) * chosen.to(g[0].dtype());
  }
  void release() override { index.release(); }
  const char* backward_name = "";
  SavedTensor index;
  Dims sizes;
  int64_t dim = 0;
  bool keepdim = false;
};

struct Names {
  const char *forward, *backward;
};

std::tuple<Tensor, Tensor> find(const Tensor& self, int64_t dim, bool keepdim,
                                const ReduceKernels::FoldIndex& kernel, Names names) {
  dim = wrap_dim(dim, self.dim());
  const uint32_t mask = 1u << dim;
  const Dims sizes = reduced_sizes(self.sizes(), mask, true);
  Tensor values = empty_raw(sizes, self.dtype(), self.device());
  Tensor indices = empty_raw(sizes, kLong, self.device());
  check(self.numel() != 0 || values.numel() == 0, names.forward, ": dimension ", dim,
        " has nothing to choose from: ", self);
  kernel(values, indices, self, dim);
  values = drop_dims(values, mask, keepdim);
  indices = drop_dims(indices, mask, keepdim);
  if (auto* node = record<MaxDimBackward>(values, self)) {
    node->backward_name = names.backward;
    node->index.save(indices);
    node->sizes = self.sizes();
    node->dim = dim;
    node->keepdim = keepdim;
  }
  return {std::move(values), std::move(indices)};
}

Tensor find_index(const Tensor& self, optional<int64_t> dim, bool keepdim,
                  const ReduceKernels::FoldIndex& kernel, const char* name) {
  NoGradGuard no_grad;
  if (dim) return std::get<1>(find(self.detach(), *dim, keepdim, kernel, {name, ""}));
  Tensor out = std::get<1>(find(self.detach().reshape({-1}), 0, false, kernel, {name, ""}));
  return keepdim ? out.view(Dims(self.sizes().size(), 1)) : out;
}

}  // namespace

std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim) {
  return find(self, dim, keepdim, backend(self).reduce.max_index, {"max", "MaxBackward"});
}
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim) {
  return find(self, dim, keepdim, backend(self).reduce.min_index, {"min", "MinBackward"});
}
Tensor argmax(const Tensor& self, optional<int64_t> dim, bool keepdim) {
  return find_index(self, dim, keepdim, backend(self).reduce.max_index, "argmax");
}
Tensor argmin(const Tensor& self, optional<int64_t> dim, bool keepdim) {
  return find_index(self, dim, keepdim, backend(self).reduce.min_index, "argmin");
}
std::tuple<Tensor, Tensor> Tensor::max(int64_t dim, bool keepdim) const {
  return tandem::max(*this, dim, keepdim);
}
std::tuple<Tensor, Tensor> Tensor::min(int64_t dim, bool keepdim) const {
  return tandem::min(*this, dim, keepdim);
}
Tensor Tensor::argmax(optional<int64_t> dim, bool keepdim) const {
  return tandem::argmax(*this, dim, keepdim);
}
Tensor Tensor::argmin(optional<int64_t> dim, bool keepdim) const {
  return tandem::argmin(*this, dim, keepdim);
}

}  // namespace tandem
