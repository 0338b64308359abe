// Optimizer steps: one fused pass over a list of parameters, without allocations.
//
// Lists have one entry per parameter. Entry i of each non-empty list has the shape, dtype (float32 or float64; a half
// type is computed in float32), device and memory order of parameter i, and is dense. The numbers of a step come in a
// plain struct, so that a captured step can keep it in device memory and rewrite it before a replay.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct SgdStep {
  double lr, weight_decay, momentum, dampening;
  bool nesterov, maximize;
  /// The momentum buffers are uninitialised.
  bool first;
};
struct AdamStep {
  double lr, beta1, beta2, eps, weight_decay;
  int64_t step;    ///< 1 for the first
  bool decoupled;  ///< weight decay applied outside the gradient: AdamW
  bool maximize;
};
struct RmsPropStep {
  double lr, alpha, eps, weight_decay, momentum;
};
struct AdagradStep {
  double lr, lr_decay, eps, weight_decay;
  int64_t step;  ///< 1 for the first
};

/// One gradient per parameter. `others` holds up to kMaxOthers further flat summands. In that case every
/// gradient of `of` is a part of the flat tensor `own`; the same pass adds the corresponding elements of the
/// others, in order, and leaves the sum in `own`.
struct Gradients {
  static constexpr std::size_t kMaxOthers = 7;
  Gradients(TensorList of_) : of(of_) {}
  Gradients(TensorList of_, const Tensor& own_, TensorList others_) : of(of_), others(others_), own(&own_) {}
  TensorList of, others;
  const Tensor* own = nullptr;
};

namespace detail {
template <>
struct FloatArgument<const Gradients&> {
  static bool needed(const Gradients& g) { return is_half(g.of) || is_half(g.others); }
  FloatArgument(const Gradients& g, bool, bool);
  FloatArgument(const FloatArgument&) = delete;
  void store() const;
  const Gradients& original;
  Tensor own;
  std::vector<Tensor> of, others;
  Gradients value;
};
}  // namespace detail
/// The parameters and all lists of the optimizer's state.
inline constexpr HalfCalls kUpdatesAll{.outputs = 5, .updates = true};

struct OptimKernels {
  /// buffers: empty without momentum.
  Kernel<"sgd", void(TensorList params, const Gradients& grads, TensorList buffers, const SgdStep& step), kUpdatesAll>
      sgd;
  /// max_squares: empty without amsgrad.
  Kernel<"adam",
         void(TensorList params, const Gradients& grads, TensorList means, TensorList squares, TensorList max_squares,
              const AdamStep& step),
         kUpdatesAll>
      adam;
  /// means: empty unless centered; buffers: empty without momentum.
  Kernel<"rmsprop",
         void(TensorList params, const Gradients& grads, TensorList squares, TensorList means, TensorList buffers,
              const RmsPropStep& step),
         kUpdatesAll>
      rmsprop;
  Kernel<"adagrad", void(TensorList params, const Gradients& grads, TensorList sums, const AdagradStep& step),
         kUpdatesAll>
      adagrad;
};

}  // namespace tandem
