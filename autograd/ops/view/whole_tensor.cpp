// Functions of a whole tensor.
#include "tandem/autograd/ops/view/whole_tensor.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/view/as_strided.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {

// The number of elements from the first to the last of this geometry. Throws Error if that overflows.
int64_t extent(IntArrayRef size, IntArrayRef stride) {
  check(size.size() == stride.size(), "empty_strided: ", size.size(), " sizes but ", stride.size(), " strides");
  if (checked_numel(size) == 0) return 0;
  int64_t last = 0;
  for (std::size_t d = 0; d < size.size(); ++d) {
    check(stride[d] >= 0, "empty_strided: strides must not be negative, got ", stride);
    int64_t reach = 0;
    check(!__builtin_mul_overflow(size[d] - 1, stride[d], &reach) && !__builtin_add_overflow(last, reach, &last) &&
              last < INT64_MAX,
          "empty_strided: ", size, " with strides ", stride, " is too large");
  }
  return last + 1;
}

}  // namespace

Tensor clone(const Tensor& self, optional<MemoryFormat> memory_format) {
  return self.clone(memory_format.value_or(MemoryFormat::Preserve));
}
Tensor detach(const Tensor& self) { return self.detach(); }
Tensor alias(const Tensor& self) { return self.view(self.sizes()); }
Tensor fill(const Tensor& self, const Scalar& value) { return self.clone().fill_(value); }
Tensor fill(const Tensor& self, const Tensor& value) { return self.clone().fill_(value); }
Tensor zero(const Tensor& self) { return self.clone().zero_(); }
Tensor copy(const Tensor& self, const Tensor& src, bool non_blocking) { return self.clone().copy_(src, non_blocking); }
Tensor resize(const Tensor& self, IntArrayRef size, optional<MemoryFormat>) {
  Tensor out = self.detach().clone(MemoryFormat::Contiguous);
  out.resize_(size);
  return out;
}
Tensor resize_as(const Tensor& self, const Tensor& the_template, optional<MemoryFormat> memory_format) {
  return resize(self, the_template.sizes(), memory_format);
}

Tensor set(const Tensor& self, const Tensor& source) {
  Tensor out = self.detach().clone();
  return set_(out, source).clone();
}
Tensor set(const Tensor& self) { return empty({0}, self.options()); }
Tensor& set_(Tensor& self, const Tensor& source) {
  check(!self.requires_grad(), "set_: the tensor requires a gradient: ", self, "; use detach()");
  check(self.dtype() == source.dtype() && self.device() == source.device(), "set_: dtypes or devices differ\n  self   ",
        self, "\n  source ", source);
  self.set_data(source.detach());
  return self;
}
namespace {
Tensor all_of(const Storage& storage, ScalarType type) {
  const int64_t count = static_cast<int64_t>(storage.nbytes()) / item_size(type);
  return Tensor(IntrusivePtr(new TensorImpl(storage, type, {count})));
}
}  // namespace
Tensor& set_(Tensor& self, const Storage& source) { return set_(self, all_of(source, self.dtype())); }
Tensor& set_(Tensor& self, const Storage& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride) {
  const Dims strides = stride.empty() ? contiguous_strides(size) : Dims(stride);
  return set_(self, as_strided(all_of(source, self.dtype()), size, strides, storage_offset));
}
Tensor& set_(Tensor& self) { return set_(self, empty({0}, self.options())); }

const Tensor& as_strided_(const Tensor& self, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) {
  check(!self.requires_grad(), "as_strided_: the tensor requires a gradient: ", self, "; use as_strided");
  const Tensor window = as_strided(self.detach(), size, stride, storage_offset);
  self.impl()->set_geometry(window.sizes(), window.strides(), window.storage_offset());
  autograd::wrote(self, "as_strided_");
  return self;
}

bool is_nonzero(const Tensor& self) { return self.is_nonzero(); }
bool is_same_size(const Tensor& self, const Tensor& other) { return self.is_same_size(other); }
bool can_cast(ScalarType from, ScalarType to) {
  if (is_complex(from) || is_complex(to)) return is_complex(to);
  return !(is_floating_point(from) && is_integral(to, false)) && !(from != kBool && to == kBool);
}
std::vector<Tensor> nonzero_numpy(const Tensor& self) { return where(self.dim() == 0 ? self.unsqueeze(0) : self); }
Tensor nonzero_static(const Tensor& self, int64_t size, int64_t fill_value) {
  check(size >= 0, "nonzero_static: expected a size >= 0, got ", size);
  const Tensor found = nonzero(self);
  if (found.size(0) >= size) return found.narrow(0, 0, size).clone();
  return cat({found, full({size - found.size(0), found.size(1)}, Scalar(fill_value), found.options())}, 0);
}

Tensor empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  const Tensor memory = empty({extent(size, stride)}, options.requires_grad(false));
  return alias(memory, size, stride, 0).requires_grad_(options.requires_grad());
}
Tensor new_empty_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, const TensorOptions& options) {
  return empty_strided(size, stride, autograd::merge_options(options, self));
}
Tensor empty_permuted(IntArrayRef size, IntArrayRef physical_layout, const TensorOptions& options) {
  check(size.size() == physical_layout.size(), "empty_permuted: ", size.size(), " sizes but ", physical_layout.size(),
        " dimensions in physical_layout");
  Dims stride(size.size(), -1);
  int64_t step = checked_numel(size) >= 0 ? 1 : 0;
  for (std::size_t i = physical_layout.size(); i-- > 0;) {
    const int64_t dim = physical_layout[i];
    check(dim >= 0 && dim < static_cast<int64_t>(size.size()) && stride[static_cast<std::size_t>(dim)] < 0,
          "empty_permuted: physical_layout must name every dimension once, got ", physical_layout);
    stride[static_cast<std::size_t>(dim)] = step;
    step *= std::max<int64_t>(size[static_cast<std::size_t>(dim)], 1);
  }
  return empty_strided(size, stride, options);
}
Tensor range(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options) {
  const double first = start.toDouble(), last = end.toDouble(), by = step.toDouble();
  check(by != 0 && std::isfinite(by), "range: the step must be finite and not 0, got ", step);
  check(std::isfinite(first) && std::isfinite(last), "range: unsupported range ", start, " to ", end);
  check((last - first) * by >= 0, "range: the range from ", start, " to ", end,
        " is inconsistent with the sign of step ", step);
  const double count = std::floor((last - first) / by) + 1;
  check(count < 9e15, "range: too many elements: ", count);
  const TensorOptions typed = options.has_dtype() ? options : options.dtype(get_default_dtype());
  const bool integral = is_integral(typed.dtype(), true);
  const Tensor index =
      arange(static_cast<int64_t>(count), typed.requires_grad(false).dtype(integral ? kLong : kDouble));
  const Tensor values = integral ? index * step.toLong() + start.toLong() : index * by + first;
  return values.to(typed.dtype()).requires_grad_(options.requires_grad());
}
Tensor range(const Scalar& start, const Scalar& end, const TensorOptions& options) {
  return range(start, end, 1, options);
}

Tensor flatten_dense_tensors(TensorList tensors) {
  std::vector<Tensor> flat;
  for (const Tensor& t : tensors) flat.push_back(t.reshape({-1}));
  return cat(flat, 0);
}
std::vector<Tensor> unflatten_dense_tensors(const Tensor& flat, TensorList tensors) {
  std::vector<Tensor> out;
  int64_t at = 0;
  for (const Tensor& t : tensors) {
    // Views of nothing would share the memory of the tensor behind them, which resize_ would then write.
    out.push_back(t.numel() == 0 ? empty(t.sizes(), flat.options()) : flat.narrow(0, at, t.numel()).view(t.sizes()));
    at += t.numel();
  }
  return out;
}

Tensor& Tensor::set_() const { return tandem::set_(tandem::detail::mutable_handle(*this)); }
Tensor& Tensor::set_(const Tensor& source) const { return tandem::set_(tandem::detail::mutable_handle(*this), source); }
Tensor& Tensor::set_(const Storage& source) const {
  return tandem::set_(tandem::detail::mutable_handle(*this), source);
}
Tensor& Tensor::set_(const Storage& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride) const {
  return tandem::set_(tandem::detail::mutable_handle(*this), source, storage_offset, size, stride);
}
const Tensor& Tensor::as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) const {
  return tandem::as_strided_(*this, size, stride, storage_offset);
}
Tensor Tensor::new_empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options) const {
  return tandem::new_empty_strided(*this, size, stride, options);
}
std::vector<Tensor> Tensor::nonzero_numpy() const { return tandem::nonzero_numpy(*this); }
Tensor Tensor::nonzero_static(int64_t size, int64_t fill_value) const {
  return tandem::nonzero_static(*this, size, fill_value);
}

}  // namespace tandem
