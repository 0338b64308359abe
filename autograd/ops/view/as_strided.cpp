// as_strided. Let B be the base's elements and W the positions of the window. Forward reads B at W; backward
// adds the gradient into zeros at W (several times where W overlaps itself).
#include "tandem/autograd/ops/view/as_strided.h"

#include <algorithm>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex_history.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"

namespace tandem {
namespace {

struct Geometry {
  Dims sizes, strides;
  int64_t offset = 0;
  static Geometry of(const Tensor& t) { return {Dims(t.sizes()), Dims(t.strides()), t.storage_offset()}; }
};

// Number of elements from the start of the storage up to and including the geometry's last element.
int64_t extent(const Geometry& g) {
  int64_t last = g.offset;
  for (std::size_t d = 0; d < g.sizes.size(); ++d) {
    if (g.sizes[d] == 0) return 0;
    last += (g.sizes[d] - 1) * g.strides[d];
  }
  return last + 1;
}

// Storage positions of the window's elements, as a vector.
Tensor element_numbers(const Geometry& g, int64_t length, Device device) {
  return arange(length, TensorOptions(kLong).device(device)).as_strided(g.sizes, g.strides, g.offset).reshape({-1});
}

// Zeros of the given `length`, with `values` added at the window's positions. Differentiable.
Tensor place(const Tensor& values, const Geometry& g, int64_t length) {
  Tensor buffer = zeros({length}, values.options());
  if (values.numel() == 0) return buffer;
  if (!autograd::recording(values) && !overlaps_itself(g.sizes, g.strides)) {
    copy_raw(alias(buffer, g.sizes, g.strides, g.offset), values);
    return buffer;
  }
  return buffer.index_add(0, element_numbers(g, length, values.device()), values.reshape({-1}));
}

// Both geometries, relative to the first element of either, so that a small base deep inside a large storage
// costs no more than any other.
struct Pair {
  static Pair of(const Tensor& base, const Tensor& window) {
    Pair p{Geometry::of(base), Geometry::of(window), 0};
    const int64_t first = std::min(p.base.offset, p.window.offset);
    p.base.offset -= first;
    p.window.offset -= first;
    p.length = std::max(extent(p.base), extent(p.window));
    return p;
  }
  Geometry base, window;
  int64_t length = 0;
};

Tensor window_of(const Tensor& buffer, const Geometry& g) { return buffer.as_strided(g.sizes, g.strides, g.offset); }

struct AsStridedBackward final : autograd::NamedNode<AsStridedBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = window_of(place(g[0], at.window, at.length), at.base);
    if (!overlaps_itself(at.base.sizes, at.base.strides)) return;
    // Elements of an expanded base that share memory share the gradient.
    const Tensor shares = place(ones(at.base.sizes, g[0].options()), at.base, at.length);
    out[0] = out[0] / window_of(shares, at.base);
  }
  Pair at;
};

// Backward of base = as_strided_scatter(base, value): the old base's gradient is zero inside the window.
struct AsStridedScatterBackward final : autograd::NamedNode<AsStridedScatterBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor dense = place(g[0], at.base, at.length);
    if (!GradMode::is_enabled()) {
      const Tensor inside = alias(dense, at.window.sizes, at.window.strides, at.window.offset);
      if (needs(1)) out[1] = inside.clone();
      fill_raw(inside, 0);
      if (needs(0)) out[0] = window_of(dense, at.base);
      return;
    }
    if (needs(1)) out[1] = window_of(dense, at.window);
    if (!needs(0)) return;
    const Tensor outside = ones({at.length}, g[0].options());
    fill_raw(alias(outside, at.window.sizes, at.window.strides, at.window.offset), 0);
    out[0] = window_of(dense * outside, at.base);
  }
  Pair at;
};

}  // namespace

namespace autograd {

void record_as_strided(const Tensor& view, const Tensor& base) {
  if (view.is_complex() != base.is_complex()) {
    if (base.is_complex()) return record_as_strided(view, parts_with_history(base));
    const Tensor parts = parts_raw(view);
    record_as_strided(parts, base);
    return record_as_complex(view, parts);
  }
  auto* node = new AsStridedBackward;
  NodePtr hold(node);
  detail::add_input(*node, base);
  if (AnomalyMode::is_enabled()) [[unlikely]]
    detail::note_forward(*node, {base});
  node->at = Pair::of(base, view);
  detail::add_output(*node, view);
}

void record_scatter(const Tensor& base, const Tensor& view, Edge value_edge) {
  if (view.is_complex() != base.is_complex()) {
    if (view.is_complex()) return record_scatter(base, parts_raw(view), parts_edge(view, value_edge));
    const Tensor parts = parts_with_history(base);
    record_scatter(parts, view, std::move(value_edge));
    return record_as_complex(base, parts);
  }
  auto* node = new AsStridedScatterBackward;
  NodePtr hold(node);
  detail::add_input(*node, base);
  node->add_next(std::move(value_edge));
  if (AnomalyMode::is_enabled()) [[unlikely]]
    detail::note_forward(*node, {base, view});
  node->at = Pair::of(base, view);
  detail::add_output(*node, base);
}

}  // namespace autograd

Tensor as_strided(const Tensor& self, IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) {
  check(size.size() == stride.size(), "as_strided: ", size.size(), " sizes but ", stride.size(), " strides");
  Geometry g{Dims(size), Dims(stride), storage_offset.value_or(self.storage_offset())};
  const int64_t elements = static_cast<int64_t>(self.storage()->nbytes()) / self.element_size();
  check(checked_numel(size) >= 0 && g.offset >= 0, "as_strided: negative offset ", g.offset);
  int64_t last = g.offset;
  for (std::size_t d = 0; d < size.size(); ++d) {
    check(stride[d] >= 0, "as_strided: negative strides are not supported, got ", stride);
    int64_t reach = 0;
    check(size[d] == 0 ||
              (!__builtin_mul_overflow(size[d] - 1, stride[d], &reach) && !__builtin_add_overflow(last, reach, &last)),
          "as_strided: the window ", size, " with strides ", stride, " is too large");
  }
  check(checked_numel(size) == 0 || last < elements, "as_strided: the window ", size, " with strides ", stride,
        " and offset ", g.offset, " reaches element ", last, ", but the storage has ", elements);
  Tensor out = autograd::make_view(self, g.sizes, g.strides, g.offset);
  if (autograd::recording(self)) autograd::record_as_strided(out, self);
  return out;
}

Tensor as_strided_scatter(const Tensor& self, const Tensor& src, IntArrayRef size, IntArrayRef stride,
                          optional<int64_t> storage_offset) {
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device()).copy_(self);
  out.as_strided(size, stride, storage_offset).copy_(src);
  return out;
}

Tensor Tensor::as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset) const {
  return tandem::as_strided(*this, size, stride, storage_offset);
}

Tensor Tensor::as_strided_scatter(const Tensor& src, IntArrayRef size, IntArrayRef stride,
                                  optional<int64_t> storage_offset) const {
  return tandem::as_strided_scatter(*this, src, size, stride, storage_offset);
}

}  // namespace tandem
