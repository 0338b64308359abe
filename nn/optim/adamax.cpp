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

std::vector<Field> AdamaxOptions::fields() {
  return fields_with_betas(*this, {{.name = "maximize", .flag = &maximize_}});
}
void AdamaxOptions::validate() const { validate_with_betas(*this); }
std::vector<Field> AdamaxParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "exp_avg", .tensor = &exp_avg_},
          {.name = "exp_inf", .tensor = &exp_inf_}};
}

Tensor Adamax::step(LossClosure closure) {
  return composed_step<AdamaxOptions>("Adamax::step", name(), param_groups_, closure,
                                      [&](const Tensor& p, const Tensor& owner, const AdamaxOptions& options) {
                                        update(p, options, state_of<AdamaxParamState>(owner));
                                      });
}

std::unique_ptr<OptimizerParamState> Adamax::make_state() const { return std::make_unique<AdamaxParamState>(); }
Adamax::Adamax(const std::vector<OptimizerParamGroup>& groups, AdamaxOptions defaults)
    : Optimizer(groups, std::make_unique<AdamaxOptions>(defaults)) {}
Adamax::Adamax(std::vector<Tensor> params, AdamaxOptions defaults)
    : Optimizer(std::move(params), std::make_unique<AdamaxOptions>(defaults)) {}

}  // namespace tandem::optim
