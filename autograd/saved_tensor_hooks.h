// Hooks on the tensors that operations keep for backward, like PyTorch's torch.autograd.graph.saved_tensors_hooks.
//
//   Tensor loss;
//   {
//     autograd::SavedTensorHooksGuard guard(autograd::save_on_cpu());
//     loss = net(x);    // pack() runs for each tensor that is kept
//   }
//   loss.backward();    // unpack() returns it
#pragma once
#include <memory>

#include "tandem/core/tensor.h"

namespace tandem::autograd {

class SavedTensorHooks {
 public:
  virtual ~SavedTensorHooks() = default;
  /// Returns an object that stands for the tensor until backward. Called once for each tensor that an operation keeps,
  /// except leaves that require gradients, which exist anyway. Must not write the tensor.
  virtual std::shared_ptr<void> pack(const Tensor& tensor) = 0;
  /// Returns a tensor with the values, shape, dtype and device of the one that was packed; otherwise backward throws
  /// Error. Called for each use in backward, with recording off, on the thread of backward;
  /// several threads may call it.
  virtual Tensor unpack(const std::shared_ptr<void>& packed) = 0;
};

/// Uses the hooks for operations of the calling thread until the guard goes out of scope. The graph keeps the hooks
/// alive. Inside another guard only the inner hooks are called; with nullptr, none are.
class SavedTensorHooksGuard {
 public:
  [[nodiscard]] explicit SavedTensorHooksGuard(std::shared_ptr<SavedTensorHooks> hooks);
  ~SavedTensorHooksGuard();
  SavedTensorHooksGuard(const SavedTensorHooksGuard&) = delete;
  SavedTensorHooksGuard& operator=(const SavedTensorHooksGuard&) = delete;

 private:
  std::shared_ptr<SavedTensorHooks> hooks_;
  const std::shared_ptr<SavedTensorHooks>* previous_;
};

/// Whether the calling thread's operations use hooks.
bool saves_through_hooks();

/// Keeps the tensors of other devices in host memory until backward.
std::shared_ptr<SavedTensorHooks> save_on_cpu();

}  // namespace tandem::autograd
