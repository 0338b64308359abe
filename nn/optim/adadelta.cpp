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
  return {TANDEM_NUMBER(lr), TANDEM_NUMBER(rho), TANDEM_NUMBER(eps), TANDEM_NUMBER(weight_decay),
          TANDEM_FLAG(maximize)};
}
void AdadeltaOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check(rho_ >= 0 && rho_ <= 1, "Invalid rho value: ", rho_);
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
}
std::vector<Field> AdadeltaParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(square_avg), TANDEM_TENSOR(acc_delta)};
}

TANDEM_DEFINE_COMPOSED(Adadelta)

}  // namespace tandem::optim
