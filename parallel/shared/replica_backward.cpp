// One flat copy per replica brings all gradients to the root, where the engine adds them to the leaves in
// node order: the root's own first, then replica 1, 2, …
#include "tandem/parallel/shared/replica_backward.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"

namespace tandem::parallel::detail {

void ReplicaBackward::backward(std::span<Tensor> grads, std::span<Tensor> out) {
  if (sync != nullptr && hold(grads)) return;
  Tensors defined;
  for (std::size_t j = 0; j < grads.size(); ++j)
    if (grads[j].defined() && needs(j)) defined.push_back(grads[j]);
  if (defined.empty()) return;
  Tensors here = broadcast_coalesced(defined, {root})[0];
  std::size_t at = 0;
  for (std::size_t j = 0; j < grads.size(); ++j)
    if (grads[j].defined() && needs(j)) out[j] = std::move(here[at++]);
}

// Whether the gradients stay on the replica for now; if so, accumulates them there.
bool ReplicaBackward::hold(std::span<Tensor> grads) {
  GradientSync::State& state = *sync->state;
  const std::lock_guard lock(state.mutex);
  if (state.holding == 0) {
    ++state.sends;
    return false;
  }
  const NoGradGuard no_grad;
  if (state.held.size() <= replica) state.held.resize(replica + 1);
  Tensors& held = state.held[replica];
  for (std::size_t j = 0; j < grads.size(); ++j) {
    if (!grads[j].defined()) continue;
    if (held.size() <= places[j]) held.resize(places[j] + 1);
    Tensor& sum = held[places[j]];
    sum = sum.defined() ? sum + grads[j].detach() : grads[j].detach();
  }
  return true;
}

GradientSync::GradientSync() : state(std::make_unique<State>()) {}
GradientSync::~GradientSync() = default;

void GradientSync::begin() {
  const std::lock_guard lock(state->mutex);
  ++state->holding;
}

void GradientSync::forget() {
  const std::lock_guard lock(state->mutex);
  state->held.clear();
}

uint64_t GradientSync::sends() {
  const std::lock_guard lock(state->mutex);
  return state->sends;
}

void GradientSync::end(const Master& master, bool drop) {
  std::vector<Tensors> held;
  {
    const std::lock_guard lock(state->mutex);
    if (--state->holding > 0) return;
    held = std::exchange(state->held, {});
    ++state->sends;
  }
  if (drop) return;
  const NoGradGuard no_grad;
  for (const Tensors& list : held) {
    Tensors defined;
    std::vector<std::size_t> places;
    for (std::size_t k = 0; k < list.size(); ++k)
      if (list[k].defined()) {
        defined.push_back(list[k]);
        places.push_back(k);
      }
    if (defined.empty()) continue;
    const Tensors here = broadcast_coalesced(defined, {master.tensor(places[0]).device()})[0];
    for (std::size_t j = 0; j < places.size(); ++j) autograd::add_to_grad(master.tensor(places[j]), here[j]);
  }
}

}  // namespace tandem::parallel::detail
