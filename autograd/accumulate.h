// AccumulateGrad: the end of the tape at a leaf.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

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
  const char* name() const override { return "AccumulateGrad"; }
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
