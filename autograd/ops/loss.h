// Losses. reduction: None gives the terms, Mean their mean, Sum their sum.
#pragma once
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// What cross_entropy_loss does of input [N, C, d1, …] or [C] (unnormalised scores).
///
/// Classes: target [N, d1, …] or [] of integers, in [0, C) or ignore_index (that counts for nothing); terms
/// w[y] (-log p[y]), mean over the sum of w[y]. Probabilities: target as the input, floating point; terms
/// sum over c of w[c] t[c] (-log p[c]), mean over the number of terms. label_smoothing e: t becomes
/// (1 - e) t + e / C. weight [C] or undefined. Throws IndexError for a target out of range, Error for other
/// shapes, dtypes and devices. `target` of classes and `weight` get no gradient.
Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                          Reduction reduction = kMean, int64_t ignore_index = -100,
                          double label_smoothing = 0);

/// -w[y] self[y]: self holds log-probabilities [N, C, d1, …] or [C], otherwise as cross_entropy_loss with
/// classes. The mean is over the sum of w[y].
Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                Reduction reduction = kMean, int64_t ignore_index = -100);

/// Element by element; self and target broadcast and both have gradients.
/// (self - target)²
Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// |self - target|
Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// d² / (2 beta) for d = |self - target| < beta, d - beta / 2 beyond; beta 0 is l1_loss.
Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean, double beta = 1);
/// d² / 2 for d = |self - target| <= delta, delta (d - delta / 2) beyond; delta > 0.
Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean, double delta = 1);

/// -w (target log self + (1 - target) log(1 - self)), logarithms not below -100; one shape, weight
/// broadcasts. self in [0, 1]; gradients at 0 and 1 are finite.
Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                            Reduction reduction = kMean);
/// The same of sigmoid(self), computed without overflow; pos_weight (broadcasts) multiplies the first term.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                                        const Tensor& pos_weight = {}, Reduction reduction = kMean);
/// target (log target - self), 0 where target is 0; with log_target exp(target) (target - self). self holds
/// log-probabilities. kBatchMean: the sum divided by self.size(0).
Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction = kMean, bool log_target = false);

namespace autograd {
/// Scores and targets of a class loss as its kernels take them, checked. `terms` is the shape of the terms.
struct ClassInputs {
  Tensor scores;          // contiguous, self's history
  Tensor target, weight;  // contiguous; target int64
  Dims terms;
  Dims scores3, targets2;  // [N, C, S], [N, S]
};
ClassInputs class_inputs(const char* operation, const Tensor& self, const Tensor& target,
                         const Tensor& weight);
/// The same memory in another contiguous shape. Not recorded.
Tensor reshaped(const Tensor& t, const Dims& sizes);
/// The terms reduced: themselves, their mean or sum. Differentiable.
Tensor reduce_loss(const char* operation, const Tensor& terms, Reduction reduction);
}  // namespace autograd

}  // namespace tandem
