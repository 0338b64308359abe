// Losses. reduction: None returns the terms, Mean their mean, Sum their sum.
#pragma once
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// Cross entropy of input [N, C, d1, …] or [C] (unnormalised scores).
///
/// Classes: target [N, d1, …] or [] of integers, in [0, C) or ignore_index (ignored). Terms are w[y] (-log
/// p[y]); the mean is over the sum of w[y]. Probabilities: target with the shape of the input, floating
/// point. Terms are the sum over c of w[c] t[c] (-log p[c]); the mean is over the number of terms.
/// label_smoothing e replaces t by (1 - e) t + e / C. weight [C] or undefined. Throws IndexError for a target
/// out of range, Error for other shapes, dtypes and devices. Class targets and `weight` get no gradient.
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                          Reduction reduction = kMean, int64_t ignore_index = -100, double label_smoothing = 0);

/// -w[y] self[y]: self holds log-probabilities [N, C, d1, …] or [C]; otherwise like cross_entropy_loss with
/// classes. The mean is over the sum of w[y].
Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {}, Reduction reduction = kMean,
                int64_t ignore_index = -100);

/// Elementwise losses; self and target broadcast and both have gradients.
/// (self - target)²
Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// |self - target|
Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// With d = |self - target|: d² / (2 beta) for d < beta, otherwise d - beta / 2. beta 0 is l1_loss.
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean, double beta = 1);
/// With d = |self - target|: d² / 2 for d <= delta, otherwise delta (d - delta / 2). delta > 0.
Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean, double delta = 1);

/// -w (target log self + (1 - target) log(1 - self)), with logarithms clamped to at least -100. self and
/// target have the same shape, dimensions of size 1 aside; weight broadcasts. Gradients at 0 and 1 are
/// finite. Throws Error for numbers outside of [0, 1], on CUDA at the next synchronisation.
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = kMean);
/// The same for sigmoid(self), computed without overflow; pos_weight (broadcasts) multiplies the first term.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction reduction = kMean);
/// target (log target - self), 0 where target is 0; with log_target, exp(target) (target - self). self holds
/// log-probabilities. kBatchMean: the sum divided by self.size(0).
Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction = kMean, bool log_target = false);

namespace autograd {
/// Validated scores and targets of a class loss, in the form its kernels take. `terms` is the shape of the
/// terms.
struct ClassInputs {
  Tensor scores;          // contiguous, with the history of self
  Tensor target, weight;  // contiguous; target int64
  Dims terms;
  Dims scores3, targets2;  // [N, C, S], [N, S]
};
/// With `mixed`, the weight may also be float32 beside scores of a half type.
ClassInputs class_inputs(const char* operation, const Tensor& self, const Tensor& target, const Tensor& weight,
                         bool mixed = false);
/// The same memory in another contiguous shape. Not recorded.
Tensor reshaped(const Tensor& t, const Dims& sizes);
/// Applies the reduction to the terms. Differentiable.
Tensor reduce_loss(const char* operation, const Tensor& terms, Reduction reduction);
}  // namespace autograd

}  // namespace tandem
