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
  return fields_with_betas(*this, {TANDEM_FLAG(decoupled_weight_decay), TANDEM_FLAG(maximize)});
}
void RAdamOptions::validate() const { validate_with_betas(*this); }
std::vector<Field> RAdamParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(exp_avg), TANDEM_TENSOR(exp_avg_sq)};
}

TANDEM_DEFINE_COMPOSED(RAdam)

}  // namespace tandem::optim
