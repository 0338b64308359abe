// Activation checkpointing, like PyTorch's torch.utils.checkpoint (its form without reentrant backward): the tensors
// that a function's operations would keep for backward are dropped, and computed again when backward needs them.
//
//   Tensor y = utils::checkpoint(block, x);                  // block: a module or any function of tensors
//   Tensor z = utils::checkpoint_sequential(layers, 4, x);   // nn/checkpoint.h: a Sequential in 4 segments
//
// Memory then holds the inputs of each checkpointed function, and the kept tensors of only one at a time; the forward
// pass of each function runs twice. T. Chen et al.: Training deep nets with sublinear memory cost. 2016.
//
// Results and gradients have the same bits as without: the second run draws the same random numbers from the default
// generator, and does not update running statistics again. The function must save the same tensors in both runs: it
// must not depend on values that changed meanwhile, draw from other generators, or run backward itself.
#pragma once
#include <functional>
#include <type_traits>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/saved_tensor_hooks.h"

namespace tandem::utils {

namespace detail {

/// The hooks of one checkpointed call.
class CheckpointedCall : public autograd::SavedTensorHooks {
 public:
  /// The forward pass has ended; from now on tensors can be unpacked.
  virtual void finish() = 0;
};
/// `run` calls the function for its saved tensors only.
std::shared_ptr<CheckpointedCall> checkpointed_call(std::vector<Tensor> inputs,
                                                    std::function<void(const std::vector<Tensor>&)> run);

}  // namespace detail

/// function(inputs...), with the function's saved tensors computed again in backward. `function` is copied. Without
/// recording it is just called. Backward throws Error if an input was written in place meanwhile, or if the second run
/// saves other tensors than the first.
template <class Function, class... Inputs>
auto checkpoint(Function function, const Inputs&... inputs) {
  static_assert((std::is_convertible_v<const Inputs&, Tensor> && ...), "checkpoint: the inputs must be tensors");
  const auto shared = std::make_shared<Function>(std::move(function));
  if (!GradMode::is_enabled()) return (*shared)(inputs...);
  const auto call = detail::checkpointed_call({inputs...}, [shared](const std::vector<Tensor>& again) {
    [&]<std::size_t... i>(std::index_sequence<i...>) { (void)(*shared)(again[i]...); }
    (std::index_sequence_for<Inputs...>{});
  });
  const autograd::SavedTensorHooksGuard guard(call);
  auto result = (*shared)(inputs...);
  call->finish();
  return result;
}

}  // namespace tandem::utils
