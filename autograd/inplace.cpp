// Views and in-place writes.
//
// An in-place operation is its functional form followed by an assignment, or writes itself (inplace.h). Assigning to a
// view is base = as_strided_scatter(base, value), and both are differentiable. The other views of that base renew their
// history from it when they are next used. The backward passes of as_strided and as_strided_scatter are themselves
// recorded operations.
#include "tandem/autograd/inplace.h"

#include <utility>

#include "tandem/autograd/ops/view/as_strided.h"
#include "tandem/autograd/record.h"
#include "tandem/autograd/saved_tensor_hooks.h"
#include "tandem/core/memory_format.h"

namespace tandem::autograd {

namespace {
// Marks a view that is not recorded: writes to it must stay unrecorded, too.
void mark_untracked(TensorImpl& view, const Tensor& base) {
  if (!view.inference)
    view.untracked_view = InferenceMode::is_enabled() ? UntrackedView::kInference : UntrackedView::kNoGrad;
  view.misses_history = base.requires_grad() || base.impl()->misses_history;
}
}  // namespace

Tensor make_view(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset) {
  Tensor view = alias(base, sizes, strides, offset);
  if (!GradMode::is_enabled()) {
    mark_untracked(*view.impl(), base);
    return view;
  }
  // A view of an untracked view is untracked too, unless only these two share the memory.
  if (base.impl()->untracked_view != UntrackedView::kNo && base.storage()->use_count() > 2) [[unlikely]] {
    mark_untracked(*view.impl(), base);
    view.impl()->untracked_view = base.impl()->untracked_view;
  }
  AutogradMeta& m = meta(view);
  const AutogradMeta* base_meta = find_meta(base);
  m.view_base = base_meta != nullptr && base_meta->view_base.defined() ? base_meta->view_base : base;
  m.view_version = base._version();
  return view;
}

void refresh_view(const Tensor& t, AutogradMeta& m) {
  const uint32_t version = t._version();
  if ((m.view_version == version && m.grad_fn.valid()) || !m.view_base.requires_grad()) return;
  record_as_strided(t, m.view_base);
  m.view_version = version;
}

namespace {
// The kind of view, and how to avoid the error.
std::pair<const char*, const char*> describe(UntrackedView view) {
  switch (view) {
    case UntrackedView::kInference:
      return {"was created in InferenceMode", "create and write the view both inside or both outside of the mode"};
    case UntrackedView::kCustomFunction:
      return {"was returned by a custom function", "let the function return a copy"};
    case UntrackedView::kLeaf:
      return {"became a leaf", "write it under NoGradGuard"};
    default:
      return {"was created under NoGradGuard", "create and write the view both inside or both outside of the guard"};
  }
}

void check_tracked(const Tensor& self, const char* operation) {
  const TensorImpl& impl = *self.impl();
  if (impl.untracked_view == UntrackedView::kNo || impl.storage->use_count() == 1) return;
  const auto [what, cure] = describe(impl.untracked_view);
  fail(operation, ": a view that ", what,
       " is written while gradients are recorded, so the write would not reach its base: ", self, "; ", cure,
       ", or clone() it");
}

void before_write(const Tensor& t) {
  if (const AutogradMeta* m = find_meta(t); m != nullptr && m->grad_fn.valid())
    if (auto* node = dynamic_cast<SavesOutput*>(m->grad_fn.function.get())) node->before_write(t);
}
}  // namespace

void SavesOutput::save_written(const Tensor& result) {
  saved.save_output(result);
  written_version = result._version();
}
void SavesOutput::before_write(const Tensor& output) {
  const bool kept = written_version != 0 && saved.defined() && output._version() == written_version;
  written_version = 0;
  if (kept) saved.save_output(before_inplace(output.detach(), Before::kClone), 0);
}

void check_inplace(const Tensor& self, const char* operation) {
  const TensorImpl& impl = *self.impl();
  if (!impl.contiguous && overlaps_itself(impl.sizes, impl.strides)) [[unlikely]]
    fail(operation, ": the tensor overlaps itself (through expand, unfold or as_strided): ", self, " strides ",
         impl.strides, "; clone() it before writing in place");
  if (impl.inference)
    check(InferenceMode::is_enabled(), operation, ": the tensor was created in InferenceMode; clone() it outside");
  if (impl.misses_history && GradMode::is_enabled()) [[unlikely]]
    check_tracked(self, operation);
  const AutogradMeta* m = find_meta(self);
  const bool view = m != nullptr && m->view_base.defined();
  before_write(self);
  if (view) before_write(m->view_base);
  if (!GradMode::is_enabled() || !impl.requires_grad()) return;
  check(!self.is_leaf(), operation,
        ": a leaf Variable that requires grad is being used in an in-place operation: ", self,
        "; use NoGradGuard or detach()");
  if (view)
    check(!m->view_base.requires_grad() || !m->view_base.is_leaf(), operation,
          ": a view of a leaf Variable that requires grad is being used in an in-place operation: ", self);
}

void check_recorded_inplace(const Tensor& self, const char* operation) { check_tracked(self, operation); }

void check_become_view(const Tensor& self, const char* operation) {
  before_write(self);  // new geometry is a new version
  check(!GradMode::is_enabled() || !self.requires_grad() || !self.is_leaf(), operation,
        ": a leaf Variable that requires grad is being used in an in-place operation: ", self,
        "; use NoGradGuard or the out-of-place form");
}

Tensor& take_geometry(const Tensor& self, const Tensor& view, const char* operation) {
  const bool leaf = self.is_leaf();
  Edge edge = view.requires_grad() && !leaf ? gradient_edge(view) : Edge{};
  self.impl()->set_geometry(view.sizes(), view.strides(), self.storage_offset());
  wrote(self, operation);
  if (edge.valid()) {
    set_history(self, std::move(edge));
    meta(self).view_version = self._version();
  } else if (leaf) {
    self.set_data(self);  // makes a new accumulator: the old one has the old shape
  }
  return tandem::detail::mutable_handle(self);
}

Tensor before_inplace(const Tensor& self, Before before) {
  const TensorImpl& impl = *self.impl();
  Tensor out;
  if (before == Before::kAlias) {
    out = alias(self, impl.sizes, impl.strides, impl.offset);
  } else {
    out = empty_raw(impl.sizes, impl.dtype, impl.device(), self.suggest_memory_format());
    copy_raw(out, self);
  }
  if (self.requires_grad()) set_history(out, gradient_edge(self));
  return out;
}

Tensor& assign(const Tensor& self, const Tensor& given, const char* operation) {
  Tensor value = given.to(self.dtype());
  if (value.sizes() != self.sizes()) {
    check(broadcast_sizes(self.sizes(), value.sizes(), operation) == Dims(self.sizes()), operation, ": the result ",
          value, " does not fit in ", self);
    value = value.expand(self.sizes());
  }
  copy_raw(self, value);
  wrote(self, operation);
  Edge edge;
  if (value.requires_grad()) {
    if (value.is_leaf()) value = value.as_strided(value.sizes(), value.strides());
    edge = gradient_edge(value);
  }
  rebase_history(self, std::move(edge));
  return tandem::detail::mutable_handle(self);
}

bool may_save_written(const Tensor& self) {
  const AutogradMeta* m = find_meta(self);
  return (m == nullptr || !m->view_base.defined()) && !saves_through_hooks();
}

void rebase_history(const Tensor& self, Edge edge) {
  AutogradMeta& m = meta(self);
  if (!m.view_base.defined()) {
    set_history(self, std::move(edge));
    return;
  }
  if (edge.valid() || m.view_base.requires_grad()) {
    record_scatter(m.view_base, self, std::move(edge));
    record_as_strided(self, m.view_base);
    m.view_version = self._version();
  }
}

}  // namespace tandem::autograd
