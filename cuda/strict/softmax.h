// Softmax in the CPU's order; see SoftmaxKernels (core/backend/softmax.h).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cuda_impl::strict {

void softmax(const Tensor& out, const Tensor& in, int64_t dim);
void log_softmax(const Tensor& out, const Tensor& in, int64_t dim);
void softmax_backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim);
void log_softmax_backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim);

}  // namespace tandem::cuda_impl::strict
