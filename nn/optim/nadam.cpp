// NAdam, composed of operations.
#include "tandem/nn/optim/nadam.h"

#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/profile.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const NAdamOptions& o, NAdamParamState& state) {
  ensure_state(state.exp_avg(), p);
  ensure_state(state.exp_avg_sq(), p);
  ++state.step();
  Tensor gradient = o.maximize() ? p.grad().neg() : p.grad().detach();
  if (o.weight_decay() != 0 && o.decoupled_weight_decay())
    p.mul_(1 - o.lr() * o.weight_decay());
  else if (o.weight_decay() != 0)
    gradient = gradient.add(p, o.weight_decay());
  const auto [beta1, beta2] = o.betas();
  const auto step = static_cast<double>(state.step());
  const double mu = beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay()));
  const double next_mu = beta1 * (1 - 0.5 * std::pow(0.96, (step + 1) * o.momentum_decay()));
  state.mu_product() *= mu;
  state.exp_avg().lerp_(gradient, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const Tensor scale = state.exp_avg_sq().div(1 - std::pow(beta2, step)).sqrt_().add_(o.eps());
  p.addcdiv_(gradient, scale, -o.lr() * (1 - mu) / (1 - state.mu_product()));
  p.addcdiv_(state.exp_avg(), scale, -o.lr() * next_mu / (1 - state.mu_product() * next_mu));
}

}  // namespace

std::vector<Field> NAdamOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "beta1", .number = &std::get<0>(betas_)},
          {.name = "beta2", .number = &std::get<1>(betas_)},
          {.name = "eps", .number = &eps_},
          {.name = "weight_decay", .number = &weight_decay_},
          {.name = "momentum_decay", .number = &momentum_decay_},
          {.name = "decoupled_weight_decay", .flag = &decoupled_weight_decay_},
          {.name = "maximize", .flag = &maximize_}};
}
void NAdamOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_unit("beta parameter at index 0", std::get<0>(betas_));
  check_unit("beta parameter at index 1", std::get<1>(betas_));
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
  check_not_negative("momentum_decay value", momentum_decay_);
}
std::vector<Field> NAdamParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "exp_avg", .tensor = &exp_avg_},
          {.name = "exp_avg_sq", .tensor = &exp_avg_sq_},
          {.name = "mu_product", .number = &mu_product_}};
}

Tensor NAdam::step(LossClosure closure) {
  const profiler::Record span("NAdam::step", "optimizer");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const NAdamOptions&>(group.options());
    for (const Tensor& p : group.params())
      if (has_gradient(name(), p)) update(p, options, state_of<NAdamParamState>(p));
  }
  return loss;
}

}  // namespace tandem::optim
