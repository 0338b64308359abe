// A tensor's autograd state: its position on the tape, its gradient, its hooks, and its base if it is a view.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

struct AutogradMeta final : AutogradMetaBase {
  bool base_requires_grad() const override { return view_base.defined() && view_base.requires_grad(); }

  Edge grad_fn;  // not for leaves
  Tensor grad;
  Node* accumulator = nullptr;  // leaves only; not owned, cleared by its destructor; guarded by `lock`
  tandem::detail::ForkLock lock;
  Tensor view_base;           // the root of a chain of views
  uint32_t view_version = 0;  // storage version that the grad_fn of a view stands for
  std::unique_ptr<NodeHooks> leaf_hooks;
  std::shared_ptr<Tensor> retained;  // retain_grad of a non-leaf, shared with its grad_fn
};

/// The meta of `t`, created if missing.
AutogradMeta& meta(const Tensor& t);
/// The meta of `t` or nullptr.
inline AutogradMeta* find_meta(const Tensor& t) { return static_cast<AutogradMeta*>(t.impl()->autograd.get()); }

/// Where the gradient of `t` goes: its grad_fn, or the accumulator of a leaf; invalid when `t` requires no
/// gradient.
Edge gradient_edge(const Tensor& t);
/// Makes `edge` the history of `t`.
void set_history(const Tensor& t, Edge edge);

}  // namespace tandem::autograd
