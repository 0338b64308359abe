// RAdam, composed of operations.
#include "tandem/nn/optim/radam.h"

#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/profile.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const RAdamOptions& o, RAdamParamState& state) {
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
  state.exp_avg().lerp_(gradient, 1 - beta1);
  state.exp_avg_sq().mul_(beta2).addcmul_(gradient, gradient, 1 - beta2);
  const double correction1 = 1 - std::pow(beta1, step), correction2 = 1 - std::pow(beta2, step);
  const double most = 2 / (1 - beta2) - 1;  // the length of the average in the limit
  const double length = most - 2 * step * std::pow(beta2, step) / correction2;
  if (length <= 5) {  // the variance is not tractable yet
    p.add_(state.exp_avg(), -o.lr() / correction1);
    return;
  }
  const double rectified = std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length));
  p.addcdiv_(state.exp_avg(), state.exp_avg_sq().sqrt().add_(o.eps()),
             -o.lr() * std::sqrt(correction2) * rectified / correction1);
}

}  // namespace

std::vector<Field> RAdamOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "beta1", .number = &std::get<0>(betas_)},
          {.name = "beta2", .number = &std::get<1>(betas_)},
          {.name = "eps", .number = &eps_},
          {.name = "weight_decay", .number = &weight_decay_},
          {.name = "decoupled_weight_decay", .flag = &decoupled_weight_decay_},
          {.name = "maximize", .flag = &maximize_}};
}
void RAdamOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_unit("beta parameter at index 0", std::get<0>(betas_));
  check_unit("beta parameter at index 1", std::get<1>(betas_));
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
}
std::vector<Field> RAdamParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "exp_avg", .tensor = &exp_avg_},
          {.name = "exp_avg_sq", .tensor = &exp_avg_sq_}};
}

Tensor RAdam::step(LossClosure closure) {
  const profiler::Record span("RAdam::step", "optimizer");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const RAdamOptions&>(group.options());
    for (const Tensor& p : group.params())
      if (has_gradient(name(), p)) update(p, options, state_of<RAdamParamState>(p));
  }
  return loss;
}

}  // namespace tandem::optim
