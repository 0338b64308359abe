// view_as_real and view_as_complex: each is the other's backward.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/complex_history.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

// Whether the tensor [..., 2] can be seen as complex numbers without a copy.
bool has_complex_layout(const Tensor& t) {
  if (t.stride(-1) != 1 || t.storage_offset() % 2 != 0) return false;
  for (int64_t d = 0; d + 1 < t.dim(); ++d)
    if (t.size(d) != 1 && t.stride(d) % 2 != 0) return false;
  return true;
}
Tensor as_complex(const Tensor& parts) {
  return view_as_complex(has_complex_layout(parts) ? parts : parts.clone(MemoryFormat::Contiguous));
}

struct ViewAsRealBackward final : NamedNode<ViewAsRealBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = as_complex(g[0]); }
};
struct ViewAsComplexBackward final : NamedNode<ViewAsComplexBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = view_as_real(g[0]); }
};

// Gives a view of the whole of `self` another geometry and dtype.
Tensor view_with(const Tensor& self, ScalarType dtype, const Dims& sizes, const Dims& strides, int64_t offset) {
  Tensor out = make_view(self, self.sizes(), self.strides(), self.storage_offset());
  out.impl()->dtype = dtype;
  out.impl()->set_geometry(sizes, strides, offset);
  return out;
}

}  // namespace

Tensor view_as_real(const Tensor& self) {
  check(self.is_complex(), "view_as_real: expected a complex tensor, got ", self);
  const Tensor parts = parts_raw(self);
  Tensor out = view_with(self, parts.scalar_type(), Dims(parts.sizes()), Dims(parts.strides()), parts.storage_offset());
  record<ViewAsRealBackward>(out, self);
  return out;
}

Tensor view_as_complex(const Tensor& self) {
  if (const auto to = autocast::full_precision_on_cpu(self)) return view_as_complex(to(self));
  check(self.dtype() == kFloat || self.dtype() == kDouble, "view_as_complex: expected float32 or float64, got ", self);
  check(self.dim() > 0 && self.size(-1) == 2, "view_as_complex: expected a last dimension of size 2, got ", self);
  check(has_complex_layout(self), "view_as_complex: ", self, " with strides ", self.strides(), " and offset ",
        self.storage_offset(),
        ": the last stride must be 1, the others and the offset even; use contiguous() or clone()");
  Dims sizes(self.sizes()), strides(self.strides());
  sizes.erase(sizes.size() - 1);
  strides.erase(strides.size() - 1);
  for (std::size_t d = 0; d < strides.size(); ++d) strides[d] = (strides[d] + 1) / 2;
  Tensor out = view_with(self, toComplexType(self.dtype()), sizes, strides, self.storage_offset() / 2);
  record<ViewAsComplexBackward>(out, self);
  return out;
}

namespace autograd {

Tensor parts_with_history(const Tensor& t) {
  if (!t.is_complex()) return t;
  Tensor parts = parts_raw(t);
  if (!t.requires_grad()) return parts;
  NodePtr node(new ViewAsRealBackward);
  detail::add_input(*node, t);
  detail::add_output(*node, parts);
  return parts;
}

void record_as_complex(const Tensor& complex, const Tensor& parts) {
  NodePtr node(new ViewAsComplexBackward);
  detail::add_input(*node, parts);
  detail::add_output(*node, complex);
}

Edge parts_edge(const Tensor& complex, Edge edge) {
  if (!edge.valid()) return {};
  NodePtr node(new ViewAsRealBackward);
  node->add_next(std::move(edge));
  Tensor parts = parts_raw(complex);
  detail::add_output(*node, parts);
  return Edge{node, 0};
}

}  // namespace autograd
}  // namespace tandem
