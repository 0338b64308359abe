// sort, argsort, topk, kthvalue, median, bincount. Gradient: g at the index.
#include "tandem/autograd/ops/reduce/sort.h"

#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/sort.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {
using namespace autograd;

struct Outputs {
  Tensor values, indices;
  Outputs(const Tensor& self, int64_t dim, int64_t count) {
    Dims sizes(self.sizes());
    if (!sizes.empty()) sizes[static_cast<std::size_t>(dim)] = count;
    values = empty_raw(sizes, self.dtype(), self.device());
    indices = empty_raw(sizes, kLong, self.device());
  }
};

int64_t size_of(const Tensor& self, int64_t dim) { return self.dim() == 0 ? 1 : self.size(dim); }

// Element k of the ascending order along dim.
std::tuple<Tensor, Tensor> kth(const Tensor& self, int64_t k, int64_t dim, bool keepdim, bool nan_first,
                               const char* backward_name) {
  Outputs out(self, dim, 1);
  backend(self).sort.kth(out.values, out.indices, self.detach().contiguous(), dim, k, nan_first);
  out.values = drop_dims(out.values, 1u << dim, keepdim);
  out.indices = drop_dims(out.indices, 1u << dim, keepdim);
  record_chosen(out.values, self, out.indices, dim, keepdim, backward_name);
  return {std::move(out.values), std::move(out.indices)};
}

}  // namespace

std::tuple<Tensor, Tensor> sort(const Tensor& self, int64_t dim, bool descending) {
  dim = wrap_dim(dim, self.dim());
  Outputs out(self, dim, size_of(self, dim));
  backend(self).sort.sort(out.values, out.indices, self.detach().contiguous(), dim, descending);
  record_chosen(out.values, self, out.indices, dim, true, "SortBackward");
  return {std::move(out.values), std::move(out.indices)};
}
std::tuple<Tensor, Tensor> sort(const Tensor& self, optional<bool>, int64_t dim, bool descending) {
  return tandem::sort(self, dim, descending);
}
Tensor argsort(const Tensor& self, int64_t dim, bool descending) {
  return std::get<1>(tandem::sort(self.detach(), dim, descending));
}

std::tuple<Tensor, Tensor> topk(const Tensor& self, int64_t k, int64_t dim, bool largest, bool) {
  dim = wrap_dim(dim, self.dim());
  check(k >= 0 && k <= size_of(self, dim), "topk: k = ", k, " is out of range for dimension ", dim, " of ", self);
  if (self.dim() == 0) k = 1;  // a 0-dim tensor selects itself, whatever k
  Outputs out(self, dim, k);
  if (out.values.numel() != 0)
    backend(self).sort.topk(out.values, out.indices, self.detach().contiguous(), dim, k, largest);
  record_chosen(out.values, self, out.indices, dim, true, "TopkBackward");
  return {std::move(out.values), std::move(out.indices)};
}

std::tuple<Tensor, Tensor> kthvalue(const Tensor& self, int64_t k, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  check(k >= 1 && k <= size_of(self, dim), "kthvalue: k = ", k, " is out of range for dimension ", dim, " of ", self);
  return kth(self, k - 1, dim, keepdim, false, "KthvalueBackward");
}

std::tuple<Tensor, Tensor> median(const Tensor& self, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  const int64_t n = size_of(self, dim);
  check(n > 0, "median: dimension ", dim, " must not be empty, got ", self);
  return kth(self, (n - 1) / 2, dim, keepdim, true, "MedianBackward");
}
Tensor median(const Tensor& self) {
  const bool nothing = self.numel() == 0;
  check(!nothing || self.is_floating_point(), "median: expected a tensor with elements, got ", self);
  Tensor out = nothing ? full({}, std::numeric_limits<double>::quiet_NaN(), self.options())
                       : std::get<0>(median(self.detach().reshape({-1}), 0, false));
  record_shared(out, self, dim_mask({}, self.dim()), false, "MedianBackward");
  return out;
}

Tensor bincount(const Tensor& self, const Tensor& weights, int64_t minlength) {
  check(self.dim() == 1 && is_integral(self.dtype(), false), "bincount: expected 1-D integers, got ", self);
  check(minlength >= 0, "bincount: minlength ", minlength, " must not be negative");
  if (self.numel() == 0) return zeros({minlength}, TensorOptions(kLong).device(self.device()));
  check(self.min().item<int64_t>() >= 0, "bincount: expected non-negative numbers, got ", self);
  check(!weights.defined() || weights.sizes() == self.sizes(), "bincount: expected one weight per number\n  self    ",
        self, "\n  weights ", weights);
  const int64_t count = std::max(minlength, add_sizes("bincount", self.max().item<int64_t>(), 1));
  const Tensor what = weights.defined() ? as_type(weights.detach(), weights.dtype() == kFloat ? kFloat : kDouble)
                                        : ones(self.sizes(), TensorOptions(kLong).device(self.device()));
  return zeros({count}, what.options()).index_add(0, self.to(kLong), what);
}

std::tuple<Tensor, Tensor> Tensor::sort(int64_t dim, bool descending) const {
  return tandem::sort(*this, dim, descending);
}
std::tuple<Tensor, Tensor> Tensor::sort(optional<bool> stable, int64_t dim, bool descending) const {
  return tandem::sort(*this, stable, dim, descending);
}
Tensor Tensor::argsort(int64_t dim, bool descending) const { return tandem::argsort(*this, dim, descending); }
std::tuple<Tensor, Tensor> Tensor::topk(int64_t k, int64_t dim, bool largest, bool sorted) const {
  return tandem::topk(*this, k, dim, largest, sorted);
}

Tensor msort(const Tensor& self) { return std::get<0>(tandem::sort(self, 0)); }

Tensor Tensor::msort() const { return tandem::msort(*this); }
std::tuple<Tensor, Tensor> Tensor::kthvalue(int64_t k, int64_t dim, bool keepdim) const {
  return tandem::kthvalue(*this, k, dim, keepdim);
}
Tensor Tensor::median() const { return tandem::median(*this); }
std::tuple<Tensor, Tensor> Tensor::median(int64_t dim, bool keepdim) const {
  return tandem::median(*this, dim, keepdim);
}
Tensor Tensor::bincount(const Tensor& weights, int64_t minlength) const {
  return tandem::bincount(*this, weights, minlength);
}

}  // namespace tandem
