// Shared parts of the optimizers that are composed of operations.
#pragma once
#include "tandem/autograd/ops.h"
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

/// Counts a step, and adds p's decayed gradient, which it returns, to the running averages of gradients and of their
/// squares.
template <class Options, class State>
Tensor update_averages(Tensor& p, const Options& o, State& state) {
  ensure_state(state.exp_avg(), p);
  ensure_state(state.exp_avg_sq(), p);
  ++state.step();
  Tensor gradient = decayed_gradient(p, o);
  const auto [beta1, beta2] = o.betas();
  state.exp_avg().lerp_(gradient, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  return gradient;
}

/// The fields of options with betas, which `more` follow.
template <class Options>
std::vector<Field> fields_with_betas(Options& o, std::initializer_list<Field> more) {
  std::vector<Field> fields{{.name = "lr", .number = &o.lr()},
                            {.name = "beta1", .number = &std::get<0>(o.betas())},
                            {.name = "beta2", .number = &std::get<1>(o.betas())},
                            {.name = "eps", .number = &o.eps()},
                            {.name = "weight_decay", .number = &o.weight_decay()}};
  fields.insert(fields.end(), more);
  return fields;
}
template <class Options>
void validate_with_betas(const Options& o) {
  check_not_negative("learning rate", o.lr());
  check_unit("beta parameter at index 0", std::get<0>(o.betas()));
  check_unit("beta parameter at index 1", std::get<1>(o.betas()));
  check_not_negative("epsilon value", o.eps());
  check_not_negative("weight_decay value", o.weight_decay());
}

/// A complex parameter as the real parts of it and of its gradient, any other as itself.
inline Tensor as_parts(const Tensor& p) {
  if (!p.is_complex()) return p;
  Tensor parts = view_as_real(p.detach());
  parts.mutable_grad() = view_as_real(p.grad().detach());
  return parts;
}

}  // namespace tandem::optim

/// Defines the constructors and step() of a composed optimizer. A step calls update(p, options, state) for each
/// parameter with a gradient, p being the parameter or, as in PyTorch, the parts of a complex one.
#define TANDEM_DEFINE_COMPOSED(Name)                                                                                   \
  TANDEM_DEFINE_OPTIMIZER(Name)                                                                                        \
  Tensor Name::step(LossClosure closure) {                                                                             \
    return step_groups<Name##Options>(#Name "::step", param_groups_, closure, [&](const auto& o, const auto& params) { \
      for (const Tensor& p : params)                                                                                   \
        if (has_gradient(name(), p)) update(as_parts(p), o, state_of<Name##ParamState>(p));                            \
    });                                                                                                                \
  }
