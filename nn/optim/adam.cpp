// Adam and AdamW: one step function with two kinds of weight decay.
#include "tandem/nn/optim/adam.h"

#include <typeinfo>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/update_lists.h"

namespace tandem::optim {
namespace {

template <class Options>
std::vector<Field> option_fields(Options& o) {
  return {{.name = "lr", .number = &o.lr()},
          {.name = "beta1", .number = &std::get<0>(o.betas())},
          {.name = "beta2", .number = &std::get<1>(o.betas())},
          {.name = "eps", .number = &o.eps()},
          {.name = "weight_decay", .number = &o.weight_decay()},
          {.name = "amsgrad", .flag = &o.amsgrad()},
          {.name = "maximize", .flag = &o.maximize()}};
}

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
void step_group(const StepCall& call, OptimizerParamGroup& group, bool decoupled, const StateOf& state_of) {
  const auto& o = static_cast<const Options&>(group.options());
  AdamStep step{o.lr(),      std::get<0>(o.betas()), std::get<1>(o.betas()), o.eps(), o.weight_decay(), 0, decoupled,
                o.maximize()};
  for_update_lists(
      call, group.params(), [&](const Tensor& p) -> int64_t { return state_of(p).step() + 1; },
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

std::vector<Field> AdamOptions::fields() { return option_fields(*this); }
void AdamOptions::validate() const { validate_options(*this); }
std::vector<Field> AdamWOptions::fields() { return option_fields(*this); }
void AdamWOptions::validate() const { validate_options(*this); }

std::vector<Field> AdamParamState::fields() {
  return {{.name = "step", .count = &step_},
          {.name = "exp_avg", .tensor = &exp_avg_},
          {.name = "exp_avg_sq", .tensor = &exp_avg_sq_},
          {.name = "max_exp_avg_sq", .tensor = &max_exp_avg_sq_}};
}

bool Adam::sums_gradients() const { return typeid(*this) == typeid(Adam); }
Tensor Adam::step(LossClosure closure) {
  const profiler::Record span("Adam::step", "optimizer");
  NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups())
    step_group<AdamOptions>(call(), group, false,
                            [this](const Tensor& p) -> AdamParamState& { return state_of<AdamParamState>(p); });
  return loss;
}

bool AdamW::sums_gradients() const { return typeid(*this) == typeid(AdamW); }
Tensor AdamW::step(LossClosure closure) {
  const profiler::Record span("AdamW::step", "optimizer");
  NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : param_groups())
    step_group<AdamWOptions>(call(), group, true,
                             [this](const Tensor& p) -> AdamParamState& { return state_of<AdamParamState>(p); });
  return loss;
}

std::unique_ptr<OptimizerParamState> Adam::make_state() const { return std::make_unique<AdamParamState>(); }
std::unique_ptr<OptimizerParamState> AdamW::make_state() const { return std::make_unique<AdamParamState>(); }
Adam::Adam(const std::vector<OptimizerParamGroup>& groups, AdamOptions defaults)
    : Optimizer(groups, std::make_unique<AdamOptions>(defaults)) {}
Adam::Adam(std::vector<Tensor> params, AdamOptions defaults)
    : Optimizer(std::move(params), std::make_unique<AdamOptions>(defaults)) {}
AdamW::AdamW(const std::vector<OptimizerParamGroup>& groups, AdamWOptions defaults)
    : Optimizer(groups, std::make_unique<AdamWOptions>(defaults)) {}
AdamW::AdamW(std::vector<Tensor> params, AdamWOptions defaults)
    : Optimizer(std::move(params), std::make_unique<AdamWOptions>(defaults)) {}

}  // namespace tandem::optim
