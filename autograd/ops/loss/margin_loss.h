// Losses of pairs, triplets and margins; elementwise unless stated otherwise.
#pragma once
#include "tandem/core/reduction.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// max(0, margin - target (input1 - input2)), target 1 or -1.
Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                           Reduction reduction = kMean);
/// self where target is 1, max(0, margin - self) where it is -1.
Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin = 1, Reduction reduction = kMean);
/// 1 - cos where target is 1, max(0, cos - margin) where it is -1; cos of vectors [N, D] or [D].
Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin = 0,
                             Reduction reduction = kMean);
/// max(0, d(anchor, positive) - d(anchor, negative) + margin) with pairwise_distance d. swap: d(positive,
/// negative) replaces d(anchor, negative) if it is smaller.
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin = 1,
                           double p = 2, double eps = 1e-6, bool swap = false, Reduction reduction = kMean);
/// log(1 + exp(-target self)), target 1 or -1.
Tensor soft_margin_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// Σ over j ≠ y of w[y] max(0, margin - self[y] + self[j])^p / C, for self [N, C] or [C] and classes y [N] or
/// [].
Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p = 1, const Scalar& margin = 1,
                         const Tensor& weight = {}, Reduction reduction = kMean);
/// Σ over classes j of target and i not of target of max(0, 1 - self[j] + self[i]) / C, for self [N, C] or [C]. target
/// is int64 of the same shape: a row's classes, ended by -1 if there are fewer than C.
Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, Reduction reduction = kMean);
/// Mean over the last dimension of -w (target log σ(self) + (1 - target) log σ(-self)).
Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight = {},
                                   Reduction reduction = kMean);
/// e^self - target self (log_input), or self - target log(self + eps). full adds Stirling's approximation for
/// targets above 1.
Tensor poisson_nll_loss(const Tensor& self, const Tensor& target, bool log_input = true, bool full = false,
                        double eps = 1e-8, Reduction reduction = kMean);

}  // namespace tandem
