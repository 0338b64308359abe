// SGD.
#include "tandem/nn/optim/sgd.h"

#include <typeinfo>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

std::vector<Field> SGDOptions::fields() {
  return {{.name = "lr", .number = &lr_},
          {.name = "momentum", .number = &momentum_},
          {.name = "dampening", .number = &dampening_},
          {.name = "weight_decay", .number = &weight_decay_},
          {.name = "nesterov", .flag = &nesterov_},
          {.name = "maximize", .flag = &maximize_}};
}

void SGDOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_not_negative("momentum value", momentum_);
  check_not_negative("weight_decay value", weight_decay_);
  check(!nesterov_ || (momentum_ > 0 && dampening_ == 0), "Nesterov momentum requires a momentum and zero dampening");
}

bool SGD::sums_gradients() const { return typeid(*this) == typeid(SGD); }
Tensor SGD::step(LossClosure closure) {
  const profiler::Record span("SGD::step", "optimizer");
  NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups()) {
    const auto& o = static_cast<const SGDOptions&>(group.options());
    const bool momentum = o.momentum() != 0;
    SgdStep step{o.lr(), o.weight_decay(), o.momentum(), o.dampening(), o.nesterov(), o.maximize(), false};
    for_update_lists(
        call(), group.params(),
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
  }
  return loss;
}

SGD::SGD(const std::vector<OptimizerParamGroup>& groups, SGDOptions defaults)
    : Optimizer(groups, std::make_unique<SGDOptions>(defaults)) {}
SGD::SGD(std::vector<Tensor> params, SGDOptions defaults)
    : Optimizer(std::move(params), std::make_unique<SGDOptions>(defaults)) {}
std::unique_ptr<OptimizerParamState> SGD::make_state() const { return std::make_unique<SGDParamState>(); }

}  // namespace tandem::optim
