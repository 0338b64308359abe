// SGD.
#include "tandem/nn/optim/sgd.h"

#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

std::vector<Field> SGDOptions::fields() {
  return {TANDEM_NUMBER(lr),           TANDEM_NUMBER(momentum), TANDEM_NUMBER(dampening),
          TANDEM_NUMBER(weight_decay), TANDEM_FLAG(nesterov),   TANDEM_FLAG(maximize)};
}

void SGDOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_not_negative("momentum value", momentum_);
  check_not_negative("weight_decay value", weight_decay_);
  check(!nesterov_ || (momentum_ > 0 && dampening_ == 0), "Nesterov momentum requires a momentum and zero dampening");
}

TANDEM_DEFINE_SUMS_GRADIENTS(SGD)
Tensor SGD::step(LossClosure closure) {
  return step_groups<SGDOptions>("SGD::step", param_groups_, closure, [&](const auto& o, const auto& params) {
    const bool momentum = o.momentum() != 0;
    SgdStep step{o.lr(), o.weight_decay(), o.momentum(), o.dampening(), o.nesterov(), o.maximize(), false};
    for_update_lists(
        call(), params,
        [&](const Tensor& p) -> int64_t {
          return momentum && !state_of<SGDParamState>(p).momentum_buffer().defined() ? 0 : 1;
        },
        [&](const Tensor& p, UpdateLists& lists) {
          if (!momentum) return;
          auto& state = state_of<SGDParamState>(p);
          ensure_state(state.momentum_buffer(), p);
          lists.first.push_back(state.momentum_buffer());
        },
        [&](const UpdateLists& lists) {
          step.first = lists.step == 0;
          backend(lists.device).optim.sgd(lists.params, lists.gradients(), lists.first, step);
        });
  });
}

TANDEM_DEFINE_OPTIMIZER(SGD)

}  // namespace tandem::optim
