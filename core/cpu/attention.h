// The CPU's kernels of attention; their contracts are in core/backend/softmax.h.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cpu {

void attention(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
               const Tensor& mask, double scale, bool causal);
void attention_backward(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                        const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                        const Tensor& mask, double scale, bool causal);

}  // namespace tandem::cpu
