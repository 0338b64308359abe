// gather, scatter, scatter_add. Gradients: gather: zeros with g added at the index. scatter: g with zeros at
// the index for self, g gathered at the index for src. scatter_add: g for self, g gathered at the index for
// src.
#include "tandem/autograd/ops/index/gather.h"

#include <algorithm>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"

namespace tandem {
namespace {
using namespace autograd;

struct GatherBackward final : NamedNode<GatherBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor base = zeros(sizes, g[0].options()), at = index.unpack(*this);
    out[0] = GradMode::is_enabled() ? base.scatter_add(dim, at, g[0]) : Tensor(base).scatter_add_(dim, at, g[0]);
  }
  Dims sizes;
  int64_t dim = 0;
  TANDEM_SAVED(index);
};

struct ScatterBackward final : Node {
  const char* label() const override { return add ? "ScatterAddBackward" : "ScatterBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = index.unpack(*this);
    if (next.size() > 1 && needs(1)) out[1] = g[0].gather(dim, at);
    if (needs(0)) out[0] = add ? std::move(g[0]) : g[0].scatter(dim, at, 0);
  }
  int64_t dim = 0;
  bool add = false;
  TANDEM_SAVED(index);
};

// Turns a 0-dim tensor into a vector of one element, so that there is a dimension to index.
Tensor at_least_1d(const Tensor& t) { return t.dim() == 0 ? t.reshape({1}) : t; }

// `index` as int64, checked against `self`. An empty index always fits.
Tensor checked_index(const char* operation, const Tensor& self, int64_t dim, const Tensor& index) {
  check(index.dtype() == kLong || index.dtype() == kInt, operation, ": expected an int64 or int32 index, got ", index);
  check(index.device() == self.device(), operation, ": devices differ\n  self  ", self, "\n  index ", index);
  const bool same_rank = std::max<int64_t>(index.dim(), 1) == std::max<int64_t>(self.dim(), 1);
  check(same_rank || index.numel() == 0, operation, ": the index must have as many dimensions as the tensor\n  self  ",
        self, "\n  index ", index);
  if (same_rank && index.numel() != 0 && index.dim() != 0 && self.dim() != 0)
    for (int64_t d = 0; d < self.dim(); ++d)
      check(d == dim || index.size(d) <= self.size(d), operation, ": the index is larger than the tensor at dimension ",
            d, "\n  self  ", self, "\n  index ", index);
  return index.to(kLong);
}

// The part of src covered by the index.
Tensor covered(const char* operation, const Tensor& self, const Tensor& index, Tensor src) {
  check(src.dtype() == self.dtype() && src.device() == self.device(), operation, ": dtypes or devices differ\n  self ",
        self, "\n  src  ", src);
  if (index.numel() == 0 || index.sizes() == src.sizes()) return src;
  if (index.dim() <= 1 && src.dim() <= 1 && index.numel() <= src.numel())
    return at_least_1d(src).narrow(0, 0, index.numel()).reshape(index.sizes());
  bool fits = src.dim() == index.dim();
  for (int64_t d = 0; fits && d < src.dim(); ++d) fits = index.size(d) <= src.size(d);
  check(fits, operation, ": the index is larger than src\n  index ", index, "\n  src   ", src);
  for (int64_t d = 0; d < src.dim(); ++d) src = src.narrow(d, 0, index.size(d));
  return src;
}

// Writes into `out`; a scalar src is an expanded tensor.
void scatter_into(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& src, bool add) {
  if (index.numel() == 0) return;
  NoGradGuard no_grad;
  const auto& kernels = backend(out).index;
  const Tensor to = at_least_1d(out), at = at_least_1d(index);
  const Tensor from = src.storage() == out.storage() ? at_least_1d(src.clone()) : at_least_1d(src);
  if (add && to.is_complex()) {
    Dims sizes(at.sizes());
    sizes.push_back(2);
    kernels.scatter_add(parts_raw(to), dim, at.unsqueeze(-1).expand(sizes).contiguous(), parts_raw(from));
  } else if (add)
    kernels.scatter_add(to, dim, at, from);
  else
    kernels.scatter(to, dim, at, from);
}

Tensor scatter_new(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool add) {
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  copy_raw(out, self);
  scatter_into(out, dim, index, src, add);
  if (auto* node = record<ScatterBackward>(out, self, src)) {
    node->dim = dim;
    node->add = add;
    node->index.save(index);
  }
  return out;
}

Tensor& scatter_inplace(const Tensor& self, const char* name, int64_t dim, const Tensor& given, const Tensor& given_src,
                        bool add) {
  dim = wrap_dim(dim, self.dim());
  const Tensor index = checked_index(name, self, dim, given), src = covered(name, self, index, given_src);
  return inplace(
      self, name, Before::kAlias, [&] { scatter_into(self, dim, index, src, add); },
      [&](const Tensor& before) { return scatter_new(before, dim, index, src, add); }, src);
}

Tensor number_as(const Scalar& value, const Tensor& self, const Tensor& index) {
  check_number_fits("scatter", value, self.dtype());
  return full({}, value, TensorOptions(self.dtype()).device(self.device())).expand(index.sizes());
}

}  // namespace

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, bool) {
  dim = wrap_dim(dim, self.dim());
  const Tensor at = checked_index("gather", self, dim, index);
  Tensor out = empty_raw(at.sizes(), self.dtype(), self.device());
  if (at.numel() != 0) {
    NoGradGuard no_grad;
    backend(self).index.gather(at_least_1d(out), at_least_1d(self), dim, at_least_1d(at));
  }
  if (auto* node = record<GatherBackward>(out, self)) {
    node->sizes = self.sizes();
    node->dim = dim;
    node->index.save(at);
  }
  return out;
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  dim = wrap_dim(dim, self.dim());
  const Tensor at = checked_index("scatter", self, dim, index);
  return scatter_new(self, dim, at, covered("scatter", self, at, src), false);
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  return scatter(self, dim, index, number_as(value, self, index));
}
Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  if (const auto to = autocast::promoted_on_cuda(self, index, src))
    return scatter_add(to(self), dim, to(index), to(src));
  dim = wrap_dim(dim, self.dim());
  const Tensor at = checked_index("scatter_add", self, dim, index);
  return scatter_new(self, dim, at, covered("scatter_add", self, at, src), true);
}

Tensor Tensor::gather(int64_t dim, const Tensor& index) const { return tandem::gather(*this, dim, index); }
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter(*this, dim, index, src);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value) const {
  return tandem::scatter(*this, dim, index, value);
}
Tensor Tensor::scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const {
  return tandem::scatter_add(*this, dim, index, src);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scatter_inplace(*this, "scatter_", dim, index, src, false);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value) const {
  return scatter_inplace(*this, "scatter_", dim, index, number_as(value, *this, index), false);
}
Tensor& Tensor::scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const {
  return scatter_inplace(*this, "scatter_add_", dim, index, src, true);
}

Tensor Tensor::take_along_dim(const Tensor& index, optional<int64_t> dim) const {
  return tandem::take_along_dim(*this, index, dim);
}

}  // namespace tandem
