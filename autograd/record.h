// Recording of operations, for the files of autograd/ops/.
//
//   Tensor mul(const Tensor& a, const Tensor& b) {
//     Tensor out = …;
//     if (auto* n = record<MulBackward>(out, a, b)) { n->a.save(a); n->b.save(b); }
//     return out;
//   }
#pragma once
#include <algorithm>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// Whether an argument of an operation requires a gradient, which numbers never do.
inline bool tracks_grad(const Tensor& t) { return t.defined() && t.requires_grad(); }
inline bool tracks_grad(const Scalar&) { return false; }
inline bool requires_grad_any(TensorList tensors) {
  return std::any_of(tensors.begin(), tensors.end(), [](const Tensor& t) { return tracks_grad(t); });
}
/// Whether an operation on these tensors and numbers must be recorded now.
template <class... Inputs>
inline bool recording(const Inputs&... inputs) {
  return GradMode::is_enabled() && (tracks_grad(inputs) || ...);
}

namespace detail {
inline void add_input(Node& node, const Tensor& t) { node.add_next(tracks_grad(t) ? gradient_edge(t) : Edge{}); }
/// Appends output number outputs.size() to `node`. Not for dtypes without gradients.
void add_output(Node& node, const Tensor& out);
void note_forward(Node& node, TensorList inputs);
}  // namespace detail

/// Creates a node of type N from `inputs` (undefined ones allowed) to `out`, or returns nullptr when nothing
/// has to be recorded. The node lives as long as the graph; fill it immediately.
template <class N, class... Tensors>
inline N* record(const Tensor& out, const Tensors&... inputs) {
  if (!recording(inputs...)) return nullptr;
  NodePtr node(new N);
  (detail::add_input(*node, inputs), ...);
  if (AnomalyMode::is_enabled()) [[unlikely]]
    detail::note_forward(*node, std::vector<Tensor>{inputs...});
  detail::add_output(*node, out);
  return static_cast<N*>(node.get());
}

/// The same for lists: several inputs and several outputs.
template <class N>
inline N* record_list(TensorList outs, TensorList inputs) {
  if (!GradMode::is_enabled() || !requires_grad_any(inputs)) return nullptr;
  NodePtr node(new N);
  for (const Tensor& t : inputs) detail::add_input(*node, t);
  if (AnomalyMode::is_enabled()) [[unlikely]]
    detail::note_forward(*node, inputs);
  for (const Tensor& out : outs) detail::add_output(*node, out);
  return static_cast<N*>(node.get());
}

/// A view of `base` with this geometry (offset in elements of the storage), registered as a view for in-place
/// operations. The caller records its backward.
Tensor make_view(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);

/// Whether an in-place operation on `self` with `inputs` must take the recorded path (assign) or may write
/// directly. Throws Error for a leaf that requires a gradient, for a tensor that overlaps itself, and for an
/// unrecorded view of a tensor that had a history.
void check_inplace(const Tensor& self, const char* operation);
/// Throws Error for a view that was not recorded with its base.
void check_recorded_inplace(const Tensor& self, const char* operation);
/// Ends an unrecorded in-place operation by bumping the version.
inline void wrote(const Tensor& self, const char* operation) { self.impl()->versions().bump_version(operation); }
/// self = value, differentiably: copies the values of `value` (same shape, any dtype) and takes over its
/// history. Every in-place operation that autograd must see is its functional form followed by this.
Tensor& assign(const Tensor& self, const Tensor& value, const char* operation);
/// Makes `edge` the history of `self`, which was written in place; for a view, its base is updated too.
void rebase_history(const Tensor& self, Edge edge);

/// `self` as an input of the functional form of an in-place operation: a separate tensor with the same
/// history. kClone copies the values, for operations that read them in backward; kAlias shares the memory
/// that is about to be overwritten.
enum class Before { kClone, kAlias };
Tensor before_inplace(const Tensor& self, Before before);

/// A complete in-place operation: `direct()` writes self when nothing is recorded, otherwise self =
/// `value(before)`.
template <class Direct, class Value, class... Inputs>
inline Tensor& inplace(const Tensor& self, const char* operation, Before before, Direct&& direct, Value&& value,
                       const Inputs&... inputs) {
  check_inplace(self, operation);
  if (recording(self, inputs...)) {
    check_recorded_inplace(self, operation);
    return assign(self, value(before_inplace(self, before)), operation);
  }
  direct();
  wrote(self, operation);
  return tandem::detail::mutable_handle(self);
}

/// Replaces the geometry and history of `self` by those of `view`, made from it by an operation that keeps
/// offset and elements. Bumps the version, because saved tensors are handles on the same geometry.
void check_become_view(const Tensor& self, const char* operation);
Tensor& take_geometry(const Tensor& self, const Tensor& view, const char* operation);
/// squeeze_, transpose_, …: self = view(self), without touching elements. Throws Error for a leaf that
/// requires a gradient.
template <class View>
Tensor& become_view(const Tensor& self, const char* operation, View&& view) {
  check_become_view(self, operation);
  AutoGradMode record_always(GradMode::is_enabled() || self.requires_grad());
  return take_geometry(self, view(static_cast<const Tensor&>(self)), operation);
}

}  // namespace tandem::autograd
