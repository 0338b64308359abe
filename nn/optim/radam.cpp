// RAdam, composed of operations.
#include "tandem/nn/optim/radam.h"

#include <cmath>

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const RAdamOptions& o, RAdamParamState& state) {
  update_averages(p, o, state);
  const auto [beta1, beta2] = o.betas();
  const auto step = static_cast<double>(state.step());
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
  return fields_with_betas(*this, {{.name = "decoupled_weight_decay", .flag = &decoupled_weight_decay_},
                                   {.name = "maximize", .flag = &maximize_}});
}
void RAdamOptions::validate() const { validate_with_betas(*this); }
std::vector<Field> RAdamParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "exp_avg", .tensor = &exp_avg_},
          {.name = "exp_avg_sq", .tensor = &exp_avg_sq_}};
}

Tensor RAdam::step(LossClosure closure) {
  return composed_step<RAdamOptions>("RAdam::step", name(), param_groups_, closure,
                                     [&](const Tensor& p, const Tensor& owner, const RAdamOptions& options) {
                                       update(p, options, state_of<RAdamParamState>(owner));
                                     });
}

std::unique_ptr<OptimizerParamState> RAdam::make_state() const { return std::make_unique<RAdamParamState>(); }
RAdam::RAdam(const std::vector<OptimizerParamGroup>& groups, RAdamOptions defaults)
    : Optimizer(groups, std::make_unique<RAdamOptions>(defaults)) {}
RAdam::RAdam(std::vector<Tensor> params, RAdamOptions defaults)
    : Optimizer(std::move(params), std::make_unique<RAdamOptions>(defaults)) {}

}  // namespace tandem::optim
