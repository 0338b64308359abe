// Diagonals, and copies with a replaced window: views of a new tensor, written in place.
#include "tandem/autograd/ops/view/diag.h"

#include <algorithm>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/view/tril.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

// Copies self and replaces `window(copy)`, a view of the copy, by src of the same shape.
template <class Window>
Tensor replaced(const char* operation, const Tensor& self, const Tensor& src, const Window& window) {
  Tensor out = self.clone(MemoryFormat::Contiguous);
  Tensor part = window(out);
  check(part.sizes() == src.sizes(), operation, ": src must be ", Dims(part.sizes()), ", got ", src, "\n  self ", self);
  part.copy_(src);
  return out;
}

Tensor triangle_indices(const char* operation, const Tensor& all, const TensorOptions& options) {
  const ScalarType type = options.has_dtype() ? options.dtype() : kLong;
  check(type == kLong || type == kInt, operation, ": expected int64 or int32, got ", type);
  return all.nonzero().t().contiguous().to(type);
}

}  // namespace

Tensor diag(const Tensor& self, int64_t diagonal) {
  check(self.dim() == 1 || self.dim() == 2, "diag: expected a vector or a matrix, got ", self);
  return self.dim() == 1 ? diag_embed(self, diagonal) : self.diagonal(diagonal).clone();
}

Tensor diag_embed(const Tensor& self, int64_t offset, int64_t dim1, int64_t dim2) {
  check(self.dim() >= 1, "diag_embed: expected at least one dimension, got ", self);
  const int64_t rank = self.dim() + 1;
  dim1 = wrap_dim(dim1, rank);
  dim2 = wrap_dim(dim2, rank);
  check(dim1 != dim2, "diag_embed: dim1 and dim2 must differ, both are ", dim1);
  Dims sizes(self.sizes());
  check_magnitude("diag_embed", "offset", offset);
  const int64_t side = sizes.back() + std::abs(offset);
  sizes.pop_back();
  sizes.insert(static_cast<std::size_t>(std::min(dim1, dim2)), side);
  sizes.insert(static_cast<std::size_t>(std::max(dim1, dim2)), side);
  Tensor out = zeros(sizes, self.options());
  out.diagonal(offset, dim1, dim2).copy_(self);
  return out;
}
Tensor diagflat(const Tensor& self, int64_t offset) { return diag(self.reshape({-1}), offset); }

Tensor trace(const Tensor& self) {
  if (const auto to = autocast::full_precision(self)) return trace(to(self));
  check(self.dim() == 2, "trace: expected a matrix, got ", self);
  return self.diagonal().sum();
}

Tensor diagonal_scatter(const Tensor& self, const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) {
  return replaced("diagonal_scatter", self, src, [&](const Tensor& x) { return x.diagonal(offset, dim1, dim2); });
}
Tensor select_scatter(const Tensor& self, const Tensor& src, int64_t dim, int64_t index) {
  return replaced("select_scatter", self, src, [&](const Tensor& x) { return x.select(dim, index); });
}
Tensor slice_scatter(const Tensor& self, const Tensor& src, int64_t dim, optional<int64_t> start, optional<int64_t> end,
                     int64_t step) {
  return replaced("slice_scatter", self, src, [&](const Tensor& x) { return x.slice(dim, start, end, step); });
}

Tensor tril_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("tril_indices", ones({row, col}, options.dtype(kBool)).tril(offset), options);
}
Tensor triu_indices(int64_t row, int64_t col, int64_t offset, const TensorOptions& options) {
  return triangle_indices("triu_indices", ones({row, col}, options.dtype(kBool)).triu(offset), options);
}

Tensor Tensor::diag(int64_t diagonal) const { return tandem::diag(*this, diagonal); }
Tensor Tensor::diag_embed(int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diag_embed(*this, offset, dim1, dim2);
}
Tensor Tensor::diagflat(int64_t offset) const { return tandem::diagflat(*this, offset); }
Tensor Tensor::trace() const { return tandem::trace(*this); }
Tensor Tensor::diagonal_scatter(const Tensor& src, int64_t offset, int64_t dim1, int64_t dim2) const {
  return tandem::diagonal_scatter(*this, src, offset, dim1, dim2);
}
Tensor Tensor::select_scatter(const Tensor& src, int64_t dim, int64_t index) const {
  return tandem::select_scatter(*this, src, dim, index);
}
Tensor Tensor::slice_scatter(const Tensor& src, int64_t dim, optional<int64_t> start, optional<int64_t> end,
                             int64_t step) const {
  return tandem::slice_scatter(*this, src, dim, start, end, step);
}
TANDEM_MEMBERS(tril, (int64_t diagonal), (diagonal))
TANDEM_MEMBERS(triu, (int64_t diagonal), (diagonal))

// A diagonal of more than two dimensions requires equal sizes; `wrap` continues it below a tall matrix.
Tensor& Tensor::fill_diagonal_(const Scalar& value, bool wrap) const {
  check(this->dim() >= 2, "fill_diagonal_: expected at least 2 dimensions, got ", *this);
  for (int64_t d = 1; this->dim() > 2 && d < this->dim(); ++d)
    check(size(d) == size(0), "fill_diagonal_: all sizes must be equal, got ", *this);
  int64_t step = 0, count = size(0);
  for (int64_t d = 0; d < this->dim(); ++d) {
    step += stride(d);
    count = std::min(count, size(d));
  }
  if (count == 0) return tandem::detail::mutable_handle(*this);
  as_strided({count}, {step}, storage_offset()).fill_(value);
  if (wrap && this->dim() == 2 && size(0) > size(1) + 1)
    narrow(0, size(1) + 1, size(0) - size(1) - 1).fill_diagonal_(value, true);
  return tandem::detail::mutable_handle(*this);
}

}  // namespace tandem
