// Adamax, composed of operations.
#include "tandem/nn/optim/adamax.h"

#include <cmath>

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const AdamaxOptions& o, AdamaxParamState& state) {
  ensure_state(state.exp_avg(), p);
  ensure_state(state.exp_inf(), p);
  ++state.step();
  const Tensor gradient = decayed_gradient(p, o);
  const auto [beta1, beta2] = o.betas();
  state.exp_avg().lerp_(gradient, 1 - beta1);
  state.exp_inf().copy_(maximum(state.exp_inf().mul(beta2), gradient.abs().add_(o.eps())));
  const double correction = 1 - std::pow(beta1, static_cast<double>(state.step()));
  p.addcdiv_(state.exp_avg(), state.exp_inf(), -o.lr() / correction);
}

}  // namespace

std::vector<Field> AdamaxOptions::fields() { return fields_with_betas(*this, {TANDEM_FLAG(maximize)}); }
void AdamaxOptions::validate() const { validate_with_betas(*this); }
std::vector<Field> AdamaxParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(exp_avg), TANDEM_TENSOR(exp_inf)};
}

TANDEM_DEFINE_COMPOSED(Adamax)

}  // namespace tandem::optim
