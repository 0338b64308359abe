// Gathers parameters for the fused steps.
#include "tandem/nn/optim/update_lists.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/record.h"
#include "tandem/core/memory/released_memory.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/profile.h"
#include "tandem/core/threads/of_thread.h"

namespace tandem::optim {

void UpdateLists::clear() {
  for (auto* list : {&params, &grads, &first, &second, &third}) list->clear();
}

UpdateLists& thread_lists() {
  UpdateLists& lists = tandem::detail::of_thread<UpdateLists>();
  lists.clear();
  return lists;
}

void check_not_cut(const std::vector<Tensor>& params) {
  for (const Tensor& p : params)
    check(
        !p.defined() || !tandem::detail::is_released(*p.storage()),
        "an optimizer has a parameter of a module that FullyShardedDataParallel has cut into slices, so it would never "
        "change it; make the optimizer after wrapping, of the wrapped model's parameters()");
}

bool has_gradient(const char* optimizer, const Tensor& p) {
  if (!p.defined()) return false;
  const Tensor& grad = p.grad();
  if (!grad.defined()) return false;
  check(grad.sizes() == p.sizes() && grad.dtype() == p.dtype() && grad.device() == p.device(), optimizer,
        ": the gradient's shape, dtype or device differs from its parameter's\n  parameter ", p, "\n  gradient  ",
        grad);
  return true;
}

void ensure_state(Tensor& state, const Tensor& p) {
  const MemoryFormat format = dense_format(p);
  if (!state.defined())
    state = zeros(p.sizes(), p.options().memory_format(format));
  else if (state.is_complex() && !p.is_complex())
    state = parts_raw(state.contiguous()).to(p.device(), p.dtype());
  else if (state.device() != p.device() || state.dtype() != p.dtype())
    state = state.to(p.device(), p.dtype());
  if (!state.is_contiguous(format)) state = state.contiguous(format);
}

void add(UpdateLists& lists, const Tensor& p) {
  const MemoryFormat format = dense_format(p);
  const auto laid_out = [&](const Tensor& t) { return t.is_contiguous(format) ? t : t.detach().contiguous(format); };
  lists.params.push_back(laid_out(p));
  lists.grads.push_back(laid_out(p.grad()));
}

void view_last_as_real(UpdateLists& lists) {
  for (auto* list : {&lists.params, &lists.grads, &lists.first, &lists.second, &lists.third})
    if (!list->empty() && list->back().is_complex()) list->back() = parts_raw(list->back());
}

void put_back(const UpdateLists& lists, const Tensor* originals, std::size_t count, const char* optimizer) {
  std::size_t at = 0;
  for (std::size_t i = 0; i < count; ++i) {
    const Tensor& p = originals[i];
    if (!p.defined() || !p.grad().defined()) continue;
    if (!p.is_contiguous(dense_format(p))) copy_raw(p.is_complex() ? parts_raw(p) : p, lists.params[at]);
    autograd::wrote(p, optimizer);
    if (lists.flat != nullptr) autograd::wrote(p.grad(), optimizer);
    ++at;
  }
}

Tensor run_closure(const LossClosure& closure) {
  if (!closure) return {};
  AutoGradMode enable(true);
  return closure();
}

Tensor step_all(const char* span, std::vector<OptimizerParamGroup>& groups, const LossClosure& closure,
                const std::function<void(const OptimizerOptions&, const std::vector<Tensor>&)>& step_group) {
  const profiler::Record record(span, "optimizer");
  const NoGradGuard no_grad;
  Tensor loss = run_closure(closure);
  for (auto& group : groups) check_not_cut(group.params());
  for (auto& group : groups) step_group(group.options(), group.params());
  return loss;
}

void check_not_negative(const char* what, double value) {
  check(value >= 0, "Invalid ", what, ": ", value);  // NaN fails too
}
void check_unit(const char* what, double value) { check(value >= 0 && value < 1, "Invalid ", what, ": ", value); }

}  // namespace tandem::optim
