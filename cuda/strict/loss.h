// Losses over classes in the CPU's order; see LossKernels (core/backend/loss.h).
#pragma once
#include "tandem/core/backend/loss.h"

namespace tandem::cuda_impl::strict {

void cross_entropy(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
                   const Tensor& target, const Tensor& weight, const ClassLoss& loss);
void nll(const Tensor& out, const Tensor& total_weight, const Tensor& scores, const Tensor& target,
         const Tensor& weight, const ClassLoss& loss);
/// The sum of the weights of all classes, []; undefined if `weight` is.
Tensor sum_of_weights(const Tensor& weight);

}  // namespace tandem::cuda_impl::strict
