// Adadelta, composed of operations.
#include "tandem/nn/optim/adadelta.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/profile.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

void update(Tensor p, const AdadeltaOptions& o, AdadeltaParamState& state) {
  ensure_state(state.square_avg(), p);
  ensure_state(state.acc_delta(), p);
  ++state.step();
  Tensor gradient = o.maximize() ? p.grad().neg() : p.grad().detach();
  if (o.weight_decay() != 0) gradient = gradient.add(p, o.weight_decay());
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
  const profiler::Record span("Adadelta::step", "optimizer");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups_) {
    const auto& options = static_cast<const AdadeltaOptions&>(group.options());
    for (const Tensor& p : group.params())
      if (has_gradient(name(), p)) update(p, options, state_of<AdadeltaParamState>(p));
  }
  return loss;
}

}  // namespace tandem::optim
