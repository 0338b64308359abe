// Adam and AdamW: one step function with two kinds of weight decay.
#include "tandem/nn/optim/adam.h"

#include "tandem/nn/optim/composed_step.h"

namespace tandem::optim {
namespace {

template <class Options>
void validate_options(const Options& o) {
  check_not_negative("learning rate", o.lr());
  check_not_negative("epsilon value", o.eps());
  check_unit("beta parameter at index 0", std::get<0>(o.betas()));
  check_unit("beta parameter at index 1", std::get<1>(o.betas()));
  check_not_negative("weight_decay value", o.weight_decay());
}

// Steps a group; `state_of(p)` returns a parameter's state.
template <class Options, class StateOf>
void step_group(const StepCall& call, const Options& o, const std::vector<Tensor>& params, bool decoupled,
                const StateOf& state_of) {
  AdamStep step{o.lr(),      std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay(), 0, decoupled,
                o.maximize()};
  for_update_lists(
      call, params, [&](const Tensor& p) -> int64_t { return state_of(p).step() + 1; },
      [&](const Tensor& p, UpdateLists& lists) {
        AdamParamState& state = state_of(p);
        ++state.step();
        ensure_state(state.exp_avg(), p);
        ensure_state(state.exp_avg_sq(), p);
        lists.first.push_back(state.exp_avg());
        lists.second.push_back(state.exp_avg_sq());
        if (!o.amsgrad()) return;
        ensure_state(state.max_exp_avg_sq(), p);
        lists.third.push_back(state.max_exp_avg_sq());
      },
      [&](const UpdateLists& lists) {
        step.step = lists.step;
        backend(lists.device).optim.adam(lists.params, lists.gradients(), lists.first, lists.second, lists.third, step);
      });
}

}  // namespace

std::vector<Field> AdamParamState::fields() {
  return {TANDEM_COUNT(step), TANDEM_TENSOR(exp_avg), TANDEM_TENSOR(exp_avg_sq), TANDEM_TENSOR(max_exp_avg_sq)};
}

#define ADAM(Name, decoupled)                                                                                          \
  std::vector<Field> Name##Options::fields() {                                                                         \
    return fields_with_betas(*this, {TANDEM_FLAG(amsgrad), TANDEM_FLAG(maximize)});                                    \
  }                                                                                                                    \
  void Name##Options::validate() const { validate_options(*this); }                                                    \
  TANDEM_DEFINE_OPTIMIZER(Name)                                                                                        \
  TANDEM_DEFINE_SUMS_GRADIENTS(Name)                                                                                   \
  Tensor Name::step(LossClosure closure) {                                                                             \
    return step_groups<Name##Options>(#Name "::step", param_groups_, closure, [&](const auto& o, const auto& params) { \
      step_group(call(), o, params, decoupled,                                                                         \
                 [&](const Tensor& p) -> AdamParamState& { return state_of<AdamParamState>(p); });                     \
    });                                                                                                                \
  }
ADAM(Adam, false)
ADAM(AdamW, true)

}  // namespace tandem::optim
