// NAdam, composed of operations.
#include "tandem/nn/optim/nadam.h"

#include <cmath>

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const NAdamOptions& o, NAdamParamState& state) {
  const Tensor gradient = update_averages(p, o, state);
  const auto [beta1, beta2] = o.betas();
  const auto step = static_cast<double>(state.step());
  const double mu = beta1 * (1 - 0.5 * std::pow(0.96, step * o.momentum_decay()));
  const double next_mu = beta1 * (1 - 0.5 * std::pow(0.96, (step + 1) * o.momentum_decay()));
  state.mu_product() *= mu;
  const Tensor scale = state.exp_avg_sq().div(1 - std::pow(beta2, step)).sqrt_().add_(o.eps());
  p.addcdiv_(gradient, scale, -o.lr() * (1 - mu) / (1 - state.mu_product()));
  p.addcdiv_(state.exp_avg(), scale, -o.lr() * next_mu / (1 - state.mu_product() * next_mu));
}

}  // namespace

std::vector<Field> NAdamOptions::fields() {
  return fields_with_betas(*this,
                           {TANDEM_NUMBER(momentum_decay), TANDEM_FLAG(decoupled_weight_decay), TANDEM_FLAG(maximize)});
}
void NAdamOptions::validate() const {
  validate_with_betas(*this);
  check_not_negative("momentum_decay value", momentum_decay_);
}
std::vector<Field> NAdamParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(exp_avg), TANDEM_TENSOR(exp_avg_sq), TANDEM_NUMBER(mu_product)};
}

TANDEM_DEFINE_COMPOSED(NAdam)

}  // namespace tandem::optim
