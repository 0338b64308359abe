// A tensor's autograd state: its position on the tape, its gradient, its hooks, and its base if it is a view. The end
// of the tape at a leaf.
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
  std::shared_ptr<void> cast_group;  // leaves only: their place among those that autocast converts; guarded by `lock`
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
/// Updates grad_fn of the view `t` to match its base: after an in-place write through any view of a base, the history
/// of every view is the base's, followed by one as_strided.
void refresh_view(const Tensor& t, AutogradMeta& m);

/// A post-accumulate hook (add_post_accumulate_hook) that is also called before a gradient is added.
struct AccumulationHook : TensorHook {
  /// Called with the leaf. If it throws, .grad() stays as it is.
  virtual void before(const Tensor& leaf) = 0;
};

/// Adds the incoming gradient to the leaf's .grad(). At most one instance per leaf is alive at a time.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  const char* label() const override { return "AccumulateGrad"; }
  bool is_accumulate() const override { return true; }
  void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  /// Runs the leaf's tensor hooks on an incoming gradient.
  void run_hooks(Tensor& grad) const;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
};

/// Adds `gradient` to leaf.grad(), as backward does. Safe to call from several threads, also while other
/// threads run backward.
void add_to_grad(const Tensor& leaf, const Tensor& gradient);

}  // namespace tandem::autograd
