// Attention with the CPU's bits, of any floating point dtype and width; arguments as in core/backend/attention.h. A
// row's largest score is in units of the scores.
#pragma once
#include "tandem/core/backend/attention.h"

namespace tandem::cuda_impl::strict {

void attention(const Tensor& out, const Tensor& rows, const Tensor& q, const Tensor& k, const Tensor& v,
               const Tensor& mask, const AttentionRule& rule);
void attention_backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& rows,
                        const Tensor& mask, const AttentionRule& rule);

}  // namespace tandem::cuda_impl::strict
