// Attention: a softmax of products, between two products. A backend has both kernels or none.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct AttentionKernels {
  /// out = softmax(scale q kᵀ + mask) v, and lse, the logarithms of the softmax's sums (infinity for a row whose
  /// scores are all -infinity; its out is 0). q [B, H, L, E], k [B, H, S, E], v [B, H, S, V], out [B, H, L, V] have
  /// unit stride in the last dimension; lse [B, H, L] is contiguous; mask is [B, H, L, S] with any strides, or
  /// undefined; one floating point dtype. `causal` leaves out the keys after the row's own index.
  OptionalKernel<"attention",
                 void(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& mask, double scale, bool causal),
                 HalfCalls{.outputs = 2}>
      forward;
  /// The gradients of q, k and v, which need not be contiguous either, from that of out.
  OptionalKernel<"attention_backward",
                 void(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                      const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse,
                      const Tensor& mask, double scale, bool causal),
                 HalfCalls{.outputs = 3}>
      backward;
};

}  // namespace tandem
