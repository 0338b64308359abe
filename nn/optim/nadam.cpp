// NAdam, composed of operations.
#include "tandem/nn/optim/nadam.h"

#include <cmath>

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const NAdamOptions& o, NAdamParamState& state) {
  ensure_state(state.exp_avg(), p);
  ensure_state(state.exp_avg_sq(), p);
  ++state.step();
  const Tensor gradient = decayed_gradient(p, o);
  const auto [beta1, beta2] = o.betas();
  const auto step = static_cast<double>(state.step());
  const double mu = beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay()));
  const double next_mu = beta1 * (1 - 0.5 * std::pow(0.96, (step + 1) * o.momentum_decay()));
  state.mu_product() *= mu;
  update_averages(state, gradient, beta1, beta2);
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
  return composed_step<NAdamOptions>("NAdam::step", name(), param_groups_, closure,
                                     [&](const Tensor& p, const Tensor& owner, const NAdamOptions& options) {
                                       update(p, options, state_of<NAdamParamState>(owner));
                                     });
}

std::unique_ptr<OptimizerParamState> NAdam::make_state() const { return std::make_unique<NAdamParamState>(); }
NAdam::NAdam(const std::vector<OptimizerParamGroup>& groups, NAdamOptions defaults)
    : Optimizer(groups, std::make_unique<NAdamOptions>(defaults)) {}
NAdam::NAdam(std::vector<Tensor> params, NAdamOptions defaults)
    : Optimizer(std::move(params), std::make_unique<NAdamOptions>(defaults)) {}

}  // namespace tandem::optim
