// view, reshape, flatten, unflatten, and views as another dtype. Gradient: g in the input's shape.
#include "tandem/autograd/ops/view/view.h"

#include <algorithm>

#include "tandem/autograd/record.h"

namespace tandem {
namespace autograd {

Dims infer_size(IntArrayRef size, int64_t numel, const char* operation) {
  Dims out(size);
  int64_t known = 1;
  std::size_t unknown = size.size();
  for (std::size_t d = 0; d < size.size(); ++d) {
    if (size[d] == -1) {
      check(unknown == size.size(), operation, ": only one size may be -1, got ", size);
      unknown = d;
    } else {
      check(size[d] >= 0, operation, ": bad size ", size[d], " in ", size);
      check(!__builtin_mul_overflow(known, size[d], &known), operation, ": too many elements: ", size);
    }
  }
  if (unknown != size.size()) {
    check(known != 0 && numel % known == 0, operation, ": shape ", size, " does not hold ", numel, " elements");
    out[unknown] = numel / known;
    known *= out[unknown];
  }
  check(known == numel, operation, ": shape ", size, " does not hold ", numel, " elements");
  return out;
}

optional<Dims> view_strides(const Tensor& self, IntArrayRef size) {
  if (self.is_contiguous()) return contiguous_strides(size);
  // Walks both shapes from the back in groups of equal products; each group of the old shape must have a
  // uniform stride.
  const IntArrayRef sizes = self.sizes(), strides = self.strides();
  Dims out(size.size(), 0);
  int64_t at = static_cast<int64_t>(size.size()) - 1;
  int64_t run_stride = strides.empty() ? 1 : strides.back(), run = 1, covered = 1;
  for (int64_t d = static_cast<int64_t>(sizes.size()) - 1; d >= 0; --d) {
    const auto i = static_cast<std::size_t>(d);
    run *= sizes[i];
    if (d != 0 && (sizes[i - 1] == 1 || strides[i - 1] == run * run_stride)) continue;
    for (; at >= 0 && (covered < run || size[static_cast<std::size_t>(at)] == 1); --at) {
      out[static_cast<std::size_t>(at)] = covered * run_stride;
      covered *= size[static_cast<std::size_t>(at)];
    }
    if (covered != run) return nullopt;
    if (d != 0) {
      run_stride = strides[i - 1];
      run = covered = 1;
    }
  }
  return at == -1 ? optional(out) : nullopt;
}

}  // namespace autograd

namespace {
using namespace autograd;

struct ViewBackward final : NamedNode<ViewBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = g[0].reshape(sizes); }
  Dims sizes;
};

Tensor view_with(const Tensor& self, const Dims& size, const Dims& strides) {
  Tensor out = make_view(self, size, strides, self.storage_offset());
  if (auto* node = record<ViewBackward>(out, self)) node->sizes = self.sizes();
  return out;
}

}  // namespace

Tensor view(const Tensor& self, IntArrayRef size) {
  const Dims wanted = infer_size(size, self.numel(), "view");
  const auto strides = view_strides(self, wanted);
  check(strides.has_value(), "view: ", self, " with strides ", self.strides(), " cannot be viewed as ", wanted,
        " without a copy; use reshape");
  return view_with(self, wanted, *strides);
}

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const Dims wanted = infer_size(shape, self.numel(), "reshape");
  const auto strides = view_strides(self, wanted);
  return strides ? view_with(self, wanted, *strides) : view(self.clone(MemoryFormat::Contiguous), wanted);
}

Tensor flatten(const Tensor& self, int64_t start_dim, int64_t end_dim) {
  start_dim = wrap_dim(start_dim, self.dim());
  end_dim = wrap_dim(end_dim, self.dim());
  check(start_dim <= end_dim, "flatten: start_dim ", start_dim, " must not be greater than end_dim ", end_dim);
  if (self.dim() == 0) return reshape(self, {1});
  if (start_dim == end_dim) return self;
  Dims sizes;
  int64_t joined = 1;
  for (int64_t d = 0; d < self.dim(); ++d) {
    if (d >= start_dim && d <= end_dim) joined *= self.size(d);
    if (d < start_dim || d > end_dim)
      sizes.push_back(self.size(d));
    else if (d == end_dim)
      sizes.push_back(joined);
  }
  return reshape(self, sizes);
}

Tensor unflatten(const Tensor& self, int64_t dim, IntArrayRef sizes) {
  dim = wrap_dim(dim, self.dim());
  check(!sizes.empty() && self.dim() > 0,
        "unflatten: expected at least one size and a tensor with at least one dimension");
  const Dims parts = infer_size(sizes, self.size(dim), "unflatten");
  Dims wanted(self.sizes());
  wanted.erase(static_cast<std::size_t>(dim));
  for (std::size_t i = 0; i < parts.size(); ++i) wanted.insert(static_cast<std::size_t>(dim) + i, parts[i]);
  return view(self, wanted);
}

Tensor ravel(const Tensor& self) { return reshape(self.contiguous(), {-1}); }

Tensor view(const Tensor& self, ScalarType dtype) {
  if (dtype == self.dtype()) return view_with(self, Dims(self.sizes()), Dims(self.strides()));
  const int64_t from = self.element_size(), to = item_size(dtype), ratio = std::max(from, to) / std::min(from, to);
  Dims sizes(self.sizes()), strides(self.strides());
  int64_t offset = self.storage_offset();
  if (from != to) {
    check(self.dim() > 0 && (strides.back() == 1 || sizes.back() == 1), "view: ", self, " with strides ",
          self.strides(), " cannot be viewed as ", dtype,
          ": a different element size requires a last dimension with stride 1");
    bool whole = from > to || (sizes.back() % ratio == 0 && offset % ratio == 0);
    for (std::size_t d = 0; d + 1 < sizes.size(); ++d) {
      whole = whole && (from > to || strides[d] % ratio == 0);
      strides[d] = from > to ? strides[d] * ratio : strides[d] / ratio;
    }
    check(whole, "view: ", self, " with strides ", self.strides(), " and offset ", offset, " cannot be viewed as ",
          dtype, ": they are not divisible by ", ratio);
    sizes.back() = from > to ? sizes.back() * ratio : sizes.back() / ratio;
    strides.back() = 1;
    offset = from > to ? offset * ratio : offset / ratio;
  }
  return alias_as(self, dtype, sizes, strides, offset);
}

Tensor Tensor::view(ScalarType dtype) const { return tandem::view(*this, dtype); }
Tensor Tensor::flatten(int64_t start_dim, int64_t end_dim) const { return tandem::flatten(*this, start_dim, end_dim); }
Tensor Tensor::unflatten(int64_t dim, IntArrayRef sizes) const { return tandem::unflatten(*this, dim, sizes); }
Tensor Tensor::view(IntArrayRef size) const { return tandem::view(*this, size); }
Tensor Tensor::reshape(IntArrayRef shape) const { return tandem::reshape(*this, shape); }

}  // namespace tandem
