// Classification losses. Scores [N, C, S], targets [N, S] (int64), losses [N, S], or [] if reduced. All are
// contiguous; the scores have one floating point dtype. S is the number of spatial positions (1 if there are
// none). For cross_entropy, scores of a half type and their gradient are the only tensors of that type: everything else
// is float32, and so are the sums.
//
//   w(y) = weight[y], 1 without weights, 0 where y == ignore_index; W = the sum of w over all targets
//   None: the terms; Sum: their sum; Mean: their sum / W (NaN if every target is ignored)
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

enum class ReductionKind : int8_t;  // core/reduction.h

struct ClassLoss {
  ReductionKind reduction;
  int64_t ignore_index = -100;
  double label_smoothing = 0;  // for cross_entropy; in [0, 1]
};

struct LossKernels {
  /// term = sum over c of t[c] (max - x[c] + log_sum), log_sum = log sum exp (x - max), t[c] = (1 -
  /// smoothing) w(y) [c == y] + smoothing / C weight[c], all 0 where y is ignored. Writes norms [2, N, S] =
  /// (max, log_sum) and W []. weight is [C] or undefined. On the CPU a target outside [0, C) throws
  /// IndexError.
  Kernel<"cross_entropy_loss",
         void(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
              const Tensor& target, const Tensor& weight, const ClassLoss&),
         HalfCalls{.outputs = 3}>
      cross_entropy;
  /// grad_scores = (exp(x - max - log_sum) sum of t - t) grad_output, divided by W for Mean. With S = 1 and half types,
  /// the rows of grad_scores may be further apart where LinalgKernels::row_bytes asks for it.
  Kernel<"cross_entropy_loss_backward",
         void(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& norms, const Tensor& total_weight,
              const Tensor& scores, const Tensor& target, const Tensor& weight, const ClassLoss&)>
      cross_entropy_backward;
  /// term = -w(y) x[y]; also writes W. Throws as cross_entropy does.
  Kernel<"nll_loss",
         void(const Tensor& out, const Tensor& total_weight, const Tensor& scores, const Tensor& target,
              const Tensor& weight, const ClassLoss&),
         HalfCalls{.outputs = 2}>
      nll;
  /// grad_scores = -w(y) grad_output at y, 0 elsewhere; divided by W for Mean.
  Kernel<"nll_loss_backward", void(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& total_weight,
                                   const Tensor& target, const Tensor& weight, const ClassLoss&)>
      nll_backward;
};

}  // namespace tandem
