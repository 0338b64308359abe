// Softmax and log-softmax along one dimension, and attention. The tensors of a softmax are row-major, of one shape and
// dtype (float32 or float64); out may be an input.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

struct SoftmaxKernels {
  using Forward = void(const Tensor& out, const Tensor& in, int64_t dim);
  using Backward = void(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim);
  /// exp(x - max) / Σ exp(x - max)
  Kernel<"softmax", Forward> softmax;
  /// x - max - log Σ exp(x - max)
  Kernel<"log_softmax", Forward> log_softmax;
  /// y (g - Σ g y)
  Kernel<"softmax_backward", Backward> softmax_backward;
  /// g - exp(y) Σ g
  Kernel<"log_softmax_backward", Backward> log_softmax_backward;

  /// out = softmax(scale q kᵀ + mask) v, and lse, the logarithms of the softmax's sums (infinity for a row whose
  /// scores are all -infinity; its out is 0). q [B, H, L, E], k [B, H, S, E], v [B, H, S, V], out [B, H, L, V] have
  /// unit stride in the last dimension; lse [B, H, L] is contiguous; mask is [B, H, L, S] with any strides, or
  /// undefined; one floating point dtype. `causal` leaves out the keys after the row's own index. Throws on CUDA, where
  /// the operation is composed.
  Kernel<"attention",
         void(const Tensor& out, const Tensor& lse, const Tensor& q, const Tensor& k, const Tensor& v,
              const Tensor& mask, double scale, bool causal),
         HalfCalls{.outputs = 2}>
      attention;
  /// The gradients of q, k and v, which need not be contiguous either, from that of out.
  Kernel<"attention_backward",
         void(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out, const Tensor& q,
              const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& lse, const Tensor& mask, double scale,
              bool causal),
         HalfCalls{.outputs = 3}>
      attention_backward;
};

}  // namespace tandem
