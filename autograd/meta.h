// What autograd keeps with a tensor: its place on the tape, its gradient, its hooks, and its base where it is
// a view.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

struct AutogradMeta final : AutogradMetaBase {
  bool base_requires_grad() const override { return view_base.defined() && view_base.requires_grad(); }

  Edge grad_fn;  // not for leaves
  Tensor grad;
  Node* accumulator = nullptr;  // of a leaf; not owned, cleared by its destructor; under `lock`
  tandem::detail::ForkLock lock;
  Tensor view_base;           // the root of a chain of views
  uint32_t view_version = 0;  // version of the storage that grad_fn of a view stands for
  std::unique_ptr<NodeHooks> leaf_hooks;
  std::shared_ptr<Tensor> retained;  // retain_grad of a non-leaf: shared with its grad_fn
};

/// The meta of `t`, made when it has none.
AutogradMeta& meta(const Tensor& t);
/// The meta of `t` or nullptr.
inline AutogradMeta* find_meta(const Tensor& t) {
  return static_cast<AutogradMeta*>(t.impl()->autograd.get());
}

/// Where a gradient of `t` goes: its grad_fn, or the accumulator of a leaf; invalid when `t` requires none.
Edge gradient_edge(const Tensor& t);
/// Puts `t` behind `edge` on the tape.
void set_history(const Tensor& t, Edge edge);

}  // namespace tandem::autograd
