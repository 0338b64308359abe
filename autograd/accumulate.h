// The end of the tape at a leaf.
#pragma once
#include "tandem/autograd/meta.h"

namespace tandem::autograd {

/// Adds its gradient to the leaf's .grad(). A leaf has at most one alive at a time.
class AccumulateGrad final : public Node {
 public:
  explicit AccumulateGrad(const Tensor& leaf);
  ~AccumulateGrad() override;
  const char* name() const override { return "AccumulateGrad"; }
  bool is_accumulate() const override { return true; }
  void backward(std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs) override;
  /// The leaf's tensor hooks, on a gradient that comes to it.
  void run_hooks(Tensor& grad) const;
  const Tensor& variable() const { return variable_; }

 private:
  Tensor variable_;
};

/// Adds `gradient` to leaf.grad(), as a backward does; several threads may, even while others go backward.
void add_to_grad(const Tensor& leaf, const Tensor& gradient);

}  // namespace tandem::autograd
