// Adagrad.
#include "tandem/nn/optim/adagrad.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {

std::vector<Field> AdagradOptions::fields() {
  return {TANDEM_NUMBER(lr), TANDEM_NUMBER(lr_decay), TANDEM_NUMBER(weight_decay),
          TANDEM_NUMBER(initial_accumulator_value), TANDEM_NUMBER(eps)};
}
void AdagradOptions::validate() const {
  check_not_negative("learning rate", lr_);
  check_not_negative("lr_decay value", lr_decay_);
  check_not_negative("weight_decay value", weight_decay_);
  check_not_negative("initial_accumulator_value value", initial_accumulator_value_);
  check_not_negative("epsilon value", eps_);
}
std::vector<Field> AdagradParamState::fields() { return {TANDEM_COUNT(step), TANDEM_TENSOR(sum)}; }

namespace {
// The sum of p's state; begins with the initial value.
Tensor& sum_of(AdagradParamState& state, const Tensor& p, const AdagradOptions& options) {
  const bool fresh = !state.sum().defined();
  ensure_state(state.sum(), p);
  if (fresh) fill_raw(p.is_complex() ? parts_raw(state.sum()) : state.sum(), options.initial_accumulator_value());
  return state.sum();
}
}  // namespace

TANDEM_DEFINE_SUMS_GRADIENTS(Adagrad)
Tensor Adagrad::step(LossClosure closure) {
  return step_groups<AdagradOptions>("Adagrad::step", param_groups_, closure, [&](const auto& o, const auto& params) {
    AdagradStep step{o.lr(), o.lr_decay(), o.eps(), o.weight_decay(), 0};
    for_update_lists(
        call(), params, [&](const Tensor& p) -> int64_t { return state_of<AdagradParamState>(p).step() + 1; },
        [&](const Tensor& p, UpdateLists& lists) {
          auto& state = state_of<AdagradParamState>(p);
          ++state.step();
          lists.first.push_back(sum_of(state, p, o));
        },
        [&](const UpdateLists& lists) {
          step.step = lists.step;
          backend(lists.device).optim.adagrad(lists.params, lists.gradients(), lists.first, step);
        });
  });
}

TANDEM_DEFINE_MAKE_STATE(Adagrad)
Adagrad::Adagrad(const std::vector<OptimizerParamGroup>& groups, AdagradOptions defaults)
    : Optimizer(groups, std::make_unique<AdagradOptions>(defaults)) {
  NoGradGuard no_grad;
  for (const auto& group : param_groups())
    for (const Tensor& p : group.params())
      sum_of(state_of<AdagradParamState>(p), p, static_cast<const AdagradOptions&>(group.options()));
}
Adagrad::Adagrad(std::vector<Tensor> params, AdagradOptions defaults)
    : Adagrad(std::vector<OptimizerParamGroup>{OptimizerParamGroup(std::move(params))}, defaults) {}

}  // namespace tandem::optim
