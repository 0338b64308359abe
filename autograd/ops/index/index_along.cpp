// index_copy, index_fill, take, masked_select, masked_scatter: applications of advanced indexing.

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"

namespace tandem {
namespace {
using namespace autograd;

// `source` is a 0-dim tensor when one number is written to a vector.
AdvancedIndex copy_index(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check(self.dtype() == source.dtype(), "index_copy: dtypes differ\n  self   ", self, "\n  source ", source);
  Dims expected(self.sizes());
  if (!expected.empty()) expected[static_cast<std::size_t>(dim)] = index.numel();
  const bool number = source.dim() == 0 && expected.size() == 1 && expected[0] == 1;
  check(number || Dims(source.sizes()) == expected, "index_copy: source must be ", expected, ", got ", source,
        "\n  self  ", self, "\n  index ", index);
  return along("index_copy", self, dim, index, false);
}

Tensor number_of(const Tensor& self, const Scalar& value) {
  check_number_fits("index_fill", value, self.dtype());
  return full({}, value, TensorOptions(self.dtype()).device(self.device()));
}

}  // namespace

Tensor index_copy(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  if (const auto to = autocast::promoted(self, index, source)) return index_copy(to(self), dim, to(index), to(source));
  if (self.dim() == 0) return index_copy(self.reshape({1}), dim, index, source.reshape({-1})).reshape({});
  dim = wrap_dim(dim, self.dim());
  return index_write(self, copy_index(self, dim, index, source), source, false);
}
Tensor& Tensor::index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const {
  if (this->dim() == 0) {
    unsqueeze(0).index_copy_(dim, index, source.reshape({-1}));
    return tandem::detail::mutable_handle(*this);
  }
  dim = wrap_dim(dim, this->dim());
  return index_write_(*this, copy_index(*this, dim, index, source), source, false);
}

Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value) {
  if (self.dim() == 0) return index_fill(self.reshape({1}), dim, index, value).reshape({});
  return index_write(self, along("index_fill", self, wrap_dim(dim, self.dim()), index, true), number_of(self, value),
                     false);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const {
  if (this->dim() == 0) {
    unsqueeze(0).index_fill_(dim, index, value);
    return tandem::detail::mutable_handle(*this);
  }
  return index_write_(*this, along("index_fill", *this, wrap_dim(dim, this->dim()), index, true),
                      number_of(*this, value), false);
}

namespace {
// bool: the positions along dim named by index, broadcast with self. The gradient of the value counts a
// repeated position once.
Tensor named_places(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  check(value.dim() == 0, "index_fill: value must be a number or a 0-dim tensor, got ", value);
  check(self.is_complex() || !value.is_complex(), "index_fill: a complex value cannot be written to ", self);
  dim = wrap_dim(dim, self.dim());
  Dims shape(self.sizes().size(), 1);
  const int64_t size = self.dim() == 0 ? 1 : self.size(dim);
  if (self.dim() > 0) shape[static_cast<std::size_t>(dim)] = size;
  return zeros({size}, TensorOptions(kBool).device(self.device())).index_fill_(0, index, true).view(shape);
}
}  // namespace
Tensor index_fill(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& value) {
  return masked_fill(self, named_places(self, dim, index, value), value);
}
Tensor& Tensor::index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const {
  return masked_fill_(named_places(*this, dim, index, value), value);
}

Tensor masked_select(const Tensor& self, const Tensor& mask) {
  check(mask.dtype() == kBool, "masked_select: expected a bool mask, got ", mask);
  const Dims sizes = broadcast_sizes(self.sizes(), mask.sizes(), "masked_select");
  if (sizes.empty()) return masked_select(self.reshape({1}), mask);
  return tandem::index(self.expand(sizes), {mask.expand(sizes)});
}
Tensor Tensor::masked_select(const Tensor& mask) const { return tandem::masked_select(*this, mask); }

Tensor take(const Tensor& self, const Tensor& index) {
  check(index.dtype() == kLong || index.dtype() == kInt, "take: expected an int64 or int32 index, got ", index);
  AdvancedIndex at = along("take", self, 0, index.reshape({-1}), true);
  return index_read(self.reshape({-1}), at).reshape(index.sizes());
}
Tensor Tensor::take(const Tensor& index) const { return tandem::take(*this, index); }

Tensor Tensor::index_copy(int64_t dim, const Tensor& index, const Tensor& source) const {
  return tandem::index_copy(*this, dim, index, source);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Scalar& value) const {
  return tandem::index_fill(*this, dim, index, value);
}
Tensor Tensor::index_fill(int64_t dim, const Tensor& index, const Tensor& value) const {
  return tandem::index_fill(*this, dim, index, value);
}

namespace {
// The first elements of source in row-major order, as many as the mask has true values.
Tensor first_elements(const Tensor& chosen, const Tensor& source) {
  const int64_t count = backend(chosen).index.count_nonzero(chosen);
  check(count <= source.numel(), "masked_scatter: the mask requires ", count, " elements, got source ", source);
  return source.reshape({-1}).narrow(0, 0, count);
}
}  // namespace

Tensor masked_scatter(const Tensor& self, const Tensor& mask, const Tensor& source) {
  const Tensor wide = self.expand(broadcast_sizes(self.sizes(), mask.sizes(), "masked_scatter"));
  if (wide.dim() == 0) return masked_scatter(wide.reshape({1}), mask, source).reshape({});
  return wide.clone(MemoryFormat::Contiguous).masked_scatter_(mask, source);
}
Tensor Tensor::masked_scatter(const Tensor& mask, const Tensor& source) const {
  return tandem::masked_scatter(*this, mask, source);
}
Tensor& Tensor::masked_scatter_(const Tensor& mask, const Tensor& source) const {
  check(mask.dtype() == kBool, "masked_scatter_: expected a bool mask, got ", mask);
  check(dtype() == source.dtype(), "masked_scatter_: dtypes differ\n  self   ", *this, "\n  source ", source);
  if (this->dim() == 0) {
    unsqueeze(0).masked_scatter_(mask, source);
    return tandem::detail::mutable_handle(*this);
  }
  const Tensor chosen = mask.expand(sizes());
  return index_put_({chosen}, first_elements(chosen, source), false);
}

}  // namespace tandem
