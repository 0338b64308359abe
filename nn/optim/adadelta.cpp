// Adadelta, composed of operations.
#include "tandem/nn/optim/adadelta.h"

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const AdadeltaOptions& o, AdadeltaParamState& state) {
  ensure_state(state.square_avg(), p);
  ensure_state(state.acc_delta(), p);
  ++state.step();
  const Tensor gradient = decayed_gradient(p, o);
  Tensor &square = state.square_avg(), &sum = state.acc_delta();
  square.mul_(o.rho()).addcmul_(gradient, gradient, 1 - o.rho());
  const Tensor delta = sum.add(o.eps()).sqrt_().div_(square.add(o.eps()).sqrt_()).mul_(gradient);
  sum.mul_(o.rho()).addcmul_(delta, delta, 1 - o.rho());
  p.add_(delta, -o.lr());
}

}  // namespace

std::vector<Field> AdadeltaOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "rho", .number = &rho_},
          {.name = "eps", .number = &eps_},
          {.name = "weight_decay", .number = &weight_decay_},
          {.name = "maximize", .flag = &maximize_}};
}
void AdadeltaOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check(rho_ >= 0 && rho_ <= 1, "Invalid rho value: ", rho_);
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
}
std::vector<Field> AdadeltaParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "square_avg", .tensor = &square_avg_},
          {.name = "acc_delta", .tensor = &acc_delta_}};
}

Tensor Adadelta::step(LossClosure closure) {
  return composed_step<AdadeltaOptions>("Adadelta::step", name(), param_groups_, closure,
                                        [&](const Tensor& p, const Tensor& owner, const AdadeltaOptions& options) {
                                          update(p, options, state_of<AdadeltaParamState>(owner));
                                        });
}

std::unique_ptr<OptimizerParamState> Adadelta::make_state() const { return std::make_unique<AdadeltaParamState>(); }
Adadelta::Adadelta(const std::vector<OptimizerParamGroup>& groups, AdadeltaOptions defaults)
    : Optimizer(groups, std::make_unique<AdadeltaOptions>(defaults)) {}
Adadelta::Adadelta(std::vector<Tensor> params, AdadeltaOptions defaults)
    : Optimizer(std::move(params), std::make_unique<AdadeltaOptions>(defaults)) {}

}  // namespace tandem::optim
