// Shared parts of the optimizers' step(): parameters are gathered in lists for one kernel call.
#pragma once
#include <typeinfo>

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/optim.h"
#include "tandem/nn/optim/optimizer.h"

namespace tandem::optim {

/// Parameters with their gradients and up to three state tensors each. Every step clears and refills the
/// lists without allocating. One kernel call handles parameters of one backend and one step count.
struct UpdateLists {
  std::vector<Tensor> params, grads, first, second, third;
  const FlatGradients* flat = nullptr;  ///< set within step_with
  int64_t step = 0;
  DeviceType device = kCPU;

  bool empty() const { return params.empty(); }
  Gradients gradients() const { return flat == nullptr ? Gradients(grads) : Gradients(grads, flat->own, flat->others); }
  /// Whether this parameter fits into the current kernel call: same step count and device type.
  bool takes(const Tensor& p, int64_t at_step) const {
    return empty() || (at_step == step && p.device().type() == device);
  }
  void clear();
};

/// This thread's lists, emptied.
UpdateLists& thread_lists();

/// Empties the lists at the end of a step, also of one that throws: they would keep its tensors alive.
struct ListsCleared {
  UpdateLists& lists;
  ~ListsCleared() { lists.clear(); }
};

/// Throws Error if FullyShardedDataParallel has cut a parameter into slices: it would never get a gradient.
void check_not_cut(const std::vector<Tensor>& params);
/// Whether `p` has a gradient to use. Throws Error when its shape, dtype or device differs from p's.
bool has_gradient(const char* optimizer, const Tensor& p);
/// Creates the state of p as zeros if undefined, otherwise converts it to p's device, dtype and layout; a complex state
/// of the parts of a parameter becomes its parts.
void ensure_state(Tensor& state, const Tensor& p);
/// Adds p and its gradient, in p's layout (dense_format): the tensors themselves, or copies, which put_back writes
/// back.
void add(UpdateLists& lists, const Tensor& p);
/// Replaces the last tensor of each list by its real parts if it is complex: as in PyTorch, a complex parameter is
/// stepped as twice as many real ones.
void view_last_as_real(UpdateLists& lists);
/// After the kernel: copies back the parameters that were copied, and bumps the version of all.
void put_back(const UpdateLists& lists, const Tensor* originals, std::size_t count, const char* optimizer);

/// Runs the closure with gradient recording enabled.
Tensor run_closure(const LossClosure& closure);
/// A step: runs the closure, calls step_group(options, parameters) for each group, and returns the loss.
Tensor step_all(const char* span, std::vector<OptimizerParamGroup>& groups, const LossClosure& closure,
                const std::function<void(const OptimizerOptions&, const std::vector<Tensor>&)>& step_group);
template <class Options, class StepGroup>
Tensor step_groups(const char* span, std::vector<OptimizerParamGroup>& groups, const LossClosure& closure,
                   const StepGroup& step_group) {
  return step_all(span, groups, closure, [&](const OptimizerOptions& options, const std::vector<Tensor>& params) {
    step_group(static_cast<const Options&>(options), params);
  });
}
void check_not_negative(const char* what, double value);
void check_unit(const char* what, double value);

/// Steps each parameter of a group. `count(p)` returns p's step count, `prepare(p, lists)` creates p's state
/// and adds it to the lists, and `run(lists)` is called once per set of parameters with equal step counts.
template <class Count, class Prepare, class Run>
void for_update_lists(const StepCall& call, const std::vector<Tensor>& params, const Count& count,
                      const Prepare& prepare, const Run& run) {
  UpdateLists& lists = thread_lists();
  const ListsCleared cleared{lists};
  lists.flat = call.flat;
  std::size_t begin = 0;  // parameters from here on may be in the lists
  const auto flush = [&](std::size_t end) {
    if (!lists.empty()) {
      run(lists);
      put_back(lists, params.data() + begin, end - begin, call.optimizer);
      lists.clear();
    }
    begin = end;
  };
  for (std::size_t i = 0; i < params.size(); ++i) {
    const Tensor& p = params[i];
    if (!has_gradient(call.optimizer, p)) continue;
    const int64_t step = count(p);
    if (!lists.takes(p, step)) flush(i);
    lists.step = step;
    lists.device = p.device().type();
    add(lists, p);
    prepare(p, lists);
    if (p.is_complex()) view_last_as_real(lists);
  }
  flush(params.size());
}

}  // namespace tandem::optim

// Fields of options and states, by the names of the members.
#define TANDEM_NUMBER(member) \
  { .name = #member, .number = &member##_ }
#define TANDEM_FLAG(member) \
  { .name = #member, .flag = &member##_ }
#define TANDEM_COUNT(member) \
  { .name = #member, .count = &member##_ }
#define TANDEM_TENSOR(member) \
  { .name = #member, .tensor = &member##_ }

// Definitions of members that the optimizers have in common.
#define TANDEM_DEFINE_MAKE_STATE(Name) \
  std::unique_ptr<OptimizerParamState> Name::make_state() const { return std::make_unique<Name##ParamState>(); }
#define TANDEM_DEFINE_OPTIMIZER(Name)                                                \
  TANDEM_DEFINE_MAKE_STATE(Name)                                                     \
  Name::Name(const std::vector<OptimizerParamGroup>& groups, Name##Options defaults) \
      : Optimizer(groups, std::make_unique<Name##Options>(defaults)) {}              \
  Name::Name(std::vector<Tensor> params, Name##Options defaults)                     \
      : Optimizer(std::move(params), std::make_unique<Name##Options>(defaults)) {}
#define TANDEM_DEFINE_SUMS_GRADIENTS(Name) \
  bool Name::sums_gradients() const { return typeid(*this) == typeid(Name); }
