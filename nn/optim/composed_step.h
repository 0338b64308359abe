// Shared parts of the optimizers that are composed of operations.
#pragma once
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/profile.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

/// p's gradient, negated to maximize, with the weight decay of the options. Decoupled decay shrinks p instead.
template <class Options>
Tensor decayed_gradient(Tensor& p, const Options& o) {
  const Tensor gradient = o.maximize() ? p.grad().neg() : p.grad().detach();
  if (o.weight_decay() == 0) return gradient;
  if constexpr (requires { o.decoupled_weight_decay(); }) {
    if (o.decoupled_weight_decay()) {
      p.mul_(1 - o.lr() * o.weight_decay());
      return gradient;
    }
  }
  return gradient.add(p, o.weight_decay());
}

/// Adds a gradient to the running averages of gradients and of their squares.
template <class State>
void update_averages(State& state, const Tensor& gradient, double beta1, double beta2) {
  state.exp_avg().lerp_(gradient, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
}

/// A complex parameter as the real parts of it and of its gradient, any other as itself.
inline Tensor as_parts(const Tensor& p) {
  if (!p.is_complex()) return p;
  Tensor parts = view_as_real(p.detach());
  parts.mutable_grad() = view_as_real(p.grad().detach());
  return parts;
}

/// A step: calls update(p, owner, options) for each parameter `owner` with a gradient, p being the same or, as in
/// PyTorch, the parts of a complex one. Returns the closure's loss.
template <class Options, class Update>
Tensor composed_step(const char* span, const char* optimizer, std::vector<OptimizerParamGroup>& groups,
                     const LossClosure& closure, const Update& update) {
  const profiler::Record record(span, "optimizer");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : groups) {
    const auto& options = static_cast<const Options&>(group.options());
    for (const Tensor& p : group.params())
      if (has_gradient(optimizer, p)) update(as_parts(p), p, options);
  }
  return loss;
}

}  // namespace tandem::optim
