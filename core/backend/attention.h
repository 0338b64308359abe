// Attention: a softmax of products, between two products. A backend has both kernels or none.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/random/generator.h"

namespace tandem {

/// How queries see keys.
struct AttentionRule {
  double scale = 1;
  /// Hides key j from query i if j > i + before: the queries follow `before` others, as behind a cache of keys.
  bool causal = false;
  int64_t before = 0;
  /// The probability, below 1, with which an element of the softmax becomes 0; the others are divided by 1 - dropout.
  /// Element i of the draw (random.h) decides about element i of the softmax, row-major in [B, H, L, S].
  double dropout = 0;
  Generator::Draw draw{};
};

struct AttentionKernels {
  /// out = dropout(softmax(scale q kᵀ + mask)) v, and in `rows` [B, H, L, 2], contiguous and float32 for the half types,
  /// what the backward kernel makes softmax of scores with: each row's largest score, in the backend's unit, and 1 / the
  /// sum of the exponential functions of their distances to it; both are 0, as is out, if all are -infinity.
  /// q [B, H, L, E], k [B, G, S, E], v [B, G, S, V], out [B, H, L, V] have unit stride in the last dimension, and rows
  /// that do not overlap; one floating point dtype. Each H / G neighbouring heads of q share one of k and v. mask is
  /// [B, H, L, S] with any strides, or undefined: of the same dtype, or bool, where false stands for -infinity.
  OptionalKernel<"attention",
                 void(const Tensor& out, const Tensor& rows, const Tensor& q, const Tensor& k, const Tensor& v,
                      const Tensor& mask, const AttentionRule& rule),
                 HalfCalls{.outputs = 2}>
      forward;
  /// The gradients of q, k and v, which need not be contiguous either, from that of out. `out` and `rows` are
  /// the forward kernel's.
  OptionalKernel<"attention_backward",
                 void(const Tensor& grad_q, const Tensor& grad_k, const Tensor& grad_v, const Tensor& grad_out,
                      const Tensor& q, const Tensor& k, const Tensor& v, const Tensor& out, const Tensor& rows,
                      const Tensor& mask, const AttentionRule& rule),
                 HalfCalls{.outputs = 3}>
      backward;
  /// Whether the kernels take heads of this dtype whose E and V are at most `features`.
  bool (*fits)(ScalarType type, int64_t features);
};

}  // namespace tandem
