// view and reshape. Gradient: g in the input's shape.
#include "tandem/autograd/ops/view.h"

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
    check(known != 0 && numel % known == 0, operation, ": shape ", size, " does not hold ", numel,
          " elements");
    out[unknown] = numel / known;
    known *= out[unknown];
  }
  check(known == numel, operation, ": shape ", size, " does not hold ", numel, " elements");
  return out;
}

optional<Dims> view_strides(const Tensor& self, IntArrayRef size) {
  if (self.is_contiguous()) return contiguous_strides(size);
  // Walk both shapes from the back in groups of equal products; a group of the old shape must be one even
  // run.
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

struct ViewBackward final : Node {
  const char* name() const override { return "ViewBackward"; }
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
  check(strides.has_value(), "view: ", self, " with strides ", self.strides(), " cannot be seen as ", wanted,
        " without a copy; use reshape");
  return view_with(self, wanted, *strides);
}

Tensor reshape(const Tensor& self, IntArrayRef shape) {
  const Dims wanted = infer_size(shape, self.numel(), "reshape");
  const auto strides = view_strides(self, wanted);
  return strides ? view_with(self, wanted, *strides) : view(self.clone(), wanted);
}

Tensor Tensor::view(IntArrayRef size) const { return tandem::view(*this, size); }
Tensor Tensor::reshape(IntArrayRef shape) const { return tandem::reshape(*this, shape); }

}  // namespace tandem
