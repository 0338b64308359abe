// RMSprop.
#include "tandem/nn/optim/rmsprop.h"

#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

std::vector<Field> RMSpropOptions::fields() {
  return {TANDEM_NUMBER(lr),           TANDEM_NUMBER(alpha),    TANDEM_NUMBER(eps),
          TANDEM_NUMBER(weight_decay), TANDEM_NUMBER(momentum), TANDEM_FLAG(centered)};
}
void RMSpropOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_not_negative("alpha value", alpha_);
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
  check_not_negative("momentum value", momentum_);
}
std::vector<Field> RMSpropParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(square_avg), TANDEM_TENSOR(grad_avg), TANDEM_TENSOR(momentum_buffer)};
}

TANDEM_DEFINE_SUMS_GRADIENTS(RMSprop)
Tensor RMSprop::step(LossClosure closure) {
  return step_groups<RMSpropOptions>("RMSprop::step", param_groups_, closure, [&](const auto& o, const auto& params) {
    const RmsPropStep step{o.lr(), o.alpha(), o.eps(), o.weight_decay(), o.momentum()};
    for_update_lists(
        call(), params, [](const Tensor&) -> int64_t { return 0; },
        [&](const Tensor& p, UpdateLists& lists) {
          auto& state = state_of<RMSpropParamState>(p);
          ++state.step();
          ensure_state(state.square_avg(), p);
          lists.first.push_back(state.square_avg());
          if (o.centered()) {
            ensure_state(state.grad_avg(), p);
            lists.second.push_back(state.grad_avg());
          }
          if (o.momentum() > 0) {
            ensure_state(state.momentum_buffer(), p);
            lists.third.push_back(state.momentum_buffer());
          }
        },
        [&](const UpdateLists& lists) {
          backend(lists.device)
              .optim.rmsprop(lists.params, lists.gradients(), lists.first, lists.second, lists.third, step);
        });
  });
}

TANDEM_DEFINE_OPTIMIZER(RMSprop)

}  // namespace tandem::optim
