// RMSprop.
#include "tandem/nn/optim/rmsprop.h"

#include <typeinfo>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

std::vector<Field> RMSpropOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "alpha", .number = &alpha_},
          {.name = "eps", .number = &eps_},
          {.name = "weight_decay", .number = &weight_decay_},
          {.name = "momentum", .number = &momentum_},
          {.name = "centered", .flag = &centered_}};
}
void RMSpropOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_not_negative("alpha value", alpha_);
  check_not_negative("epsilon value", eps_);
  check_not_negative("weight_decay value", weight_decay_);
  check_not_negative("momentum value", momentum_);
}
std::vector<Field> RMSpropParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "square_avg", .tensor = &square_avg_},
          {.name = "grad_avg", .tensor = &grad_avg_},
          {.name = "momentum_buffer", .tensor = &momentum_buffer_}};
}

bool RMSprop::sums_gradients() const { return typeid(*this) == typeid(RMSprop); }
Tensor RMSprop::step(LossClosure closure) {
  const profiler::Record span("RMSprop::step", "optimizer");
  NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups()) {
    const auto& o = static_cast<const RMSpropOptions&>(group.options());
    const RmsPropStep step{o.lr(), o.alpha(), o.eps(), o.weight_decay(), o.momentum()};
    for_update_lists(
        call(), group.params(), [](const Tensor&) -> int64_t { return 0; },
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
  }
  return loss;
}

std::unique_ptr<OptimizerParamState> RMSprop::make_state() const { return std::make_unique<RMSpropParamState>(); }
RMSprop::RMSprop(const std::vector<OptimizerParamGroup>& groups, RMSpropOptions defaults)
    : Optimizer(groups, std::make_unique<RMSpropOptions>(defaults)) {}
RMSprop::RMSprop(std::vector<Tensor> params, RMSpropOptions defaults)
    : Optimizer(std::move(params), std::make_unique<RMSpropOptions>(defaults)) {}

}  // namespace tandem::optim
