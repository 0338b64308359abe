// Accumulates gradients into leaves.
#include "tandem/autograd/accumulate.h"

#include <mutex>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/core/backend/backend.h"

namespace tandem::autograd {
namespace {

// Several backward passes may reach the same leaf concurrently.
tandem::detail::ForkMutex& leaf_mutex(const TensorImpl* leaf) {
  static constinit tandem::detail::ForkMutex mutexes[64];
  return mutexes[(reinterpret_cast<uintptr_t>(leaf) >> 7) % 64];
}

bool sole_owner(const Tensor& grad) {
  return grad.use_count() == 1 && grad.storage()->use_count() == 1 && grad.is_contiguous();
}

void accumulate(AutogradMeta& m, Tensor&& grad, bool create_graph) {
  if (!m.grad.defined()) {
    if (sole_owner(grad))
      m.grad = std::move(grad);
    else  // never shared with another leaf or the caller, because gradients are written in place
      m.grad = (create_graph ? grad : grad.detach()).clone(MemoryFormat::Contiguous);
    return;
  }
  check(m.grad.sizes() == grad.sizes(), "backward: .grad() of a leaf has the wrong shape: .grad() is ", m.grad,
        " but the new gradient is ", grad, "; reset it with mutable_grad().reset()");
  if (create_graph) {
    m.grad = m.grad + grad;
  } else {
    m.grad.add_(grad.detach());
  }
}

}  // namespace

AccumulateGrad::AccumulateGrad(const Tensor& leaf) : variable_(leaf) {
  outputs.push_back({Dims(leaf.sizes()), leaf.dtype(), leaf.device()});
}

AccumulateGrad::~AccumulateGrad() {
  AutogradMeta* m = find_meta(variable_);
  if (m == nullptr) return;
  const std::lock_guard lock(m->lock);
  if (m->accumulator == this) m->accumulator = nullptr;
}

void AccumulateGrad::backward(std::span<Tensor> grad_outputs, std::span<Tensor>) {
  Tensor grad = std::move(grad_outputs[0]);
  AutogradMeta& m = meta(variable_);
  if (!variable_.requires_grad()) return;
  std::vector<NodeHooks::PreHook> hooks;
  if (m.leaf_hooks) hooks = m.leaf_hooks->post_accumulate;  // a hook may remove itself
  for (const auto& post : hooks)
    if (auto* const around = dynamic_cast<AccumulationHook*>(post.hook.get())) around->before(variable_);
  {
    std::lock_guard lock(leaf_mutex(variable_.impl()));
    accumulate(m, std::move(grad), GradMode::is_enabled());
  }
  for (const auto& post : hooks) post.hook->call(variable_);
}

void add_to_grad(const Tensor& leaf, const Tensor& gradient) {
  AutogradMeta& m = meta(leaf);
  std::lock_guard lock(leaf_mutex(leaf.impl()));
  accumulate(m, Tensor(gradient), /*create_graph=*/false);
}

void AccumulateGrad::run_hooks(Tensor& grad) const {
  if (const AutogradMeta* m = find_meta(variable_); m != nullptr && m->leaf_hooks)
    run_pre_hooks(*m->leaf_hooks, 0, grad);
}

}  // namespace tandem::autograd
