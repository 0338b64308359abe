// Recurrent layers: the elementwise part of one time step, and its product with the recurrent weight. The steps of one
// layer share tensors; a step takes the rows from `at` of those that hold all N steps, and rows from 0 of the states.
// All tensors are contiguous, of one dtype (float32 or float64). G is the number of gates.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

enum class RecurrentKind : int8_t { kLstm, kGru, kTanh, kRelu };
constexpr int64_t gate_count(RecurrentKind kind) {
  return kind == RecurrentKind::kLstm ? 4 : kind == RecurrentKind::kGru ? 3 : 1;
}

/// Writes the new state to h, c and out. If h_prev is defined, also writes what backward needs.
struct RecurrentForward {
  RecurrentKind kind;
  Tensor gates;      ///< [N, G H]: in: before the activations; out: activated
  Tensor h, c;       ///< [B, H]: the state; c only of an LSTM
  Tensor out;        ///< [N, H]
  Tensor hidden;     ///< GRU: [B, 3 H], the product h w_hhᵀ
  Tensor bias;       ///< GRU: [3 H], added to hidden
  Tensor h_prev;     ///< [N, H]: the state before the step
  Tensor c_prev;     ///< LSTM: [N, H]
  Tensor candidate;  ///< GRU: [N, H], the last third of hidden
};

/// From the gradient of the new state to that of the gates before their activations, d_gates. Of the old state, dc is
/// complete; dh of a GRU is the part that does not pass through the gates, others leave dh alone.
struct RecurrentBackward {
  RecurrentKind kind;
  Tensor gates, h_prev, c_prev, candidate;  ///< as saved
  Tensor grad;                              ///< [N, H], of out
  Tensor dh, dc;                            ///< [B, H]
  Tensor d_gates;                           ///< [N, G H]
  Tensor d_hidden;                          ///< GRU: [N, 3 H], of hidden
};

/// to[to_at + i] = from[from_at + i] weight, or += if `add`, for i < rows.
struct StepProduct {
  Tensor to, from;  ///< matrices
  Tensor weight;    ///< [K, N], any strides
  Tensor packed;    ///< pack(weight)
  bool add = false;
};

struct RecurrentKernels {
  Kernel<"recurrent_forward", void(const RecurrentForward& step, int64_t at, int64_t rows)> forward;
  Kernel<"recurrent_backward", void(const RecurrentBackward& step, int64_t at, int64_t rows)> backward;
  /// The weight in the layout in which this backend multiplies repeatedly.
  Kernel<"recurrent_pack", Tensor(const Tensor& weight)> pack;
  Kernel<"recurrent_product", void(const StepProduct& product, int64_t to_at, int64_t from_at, int64_t rows)> product;
};

}  // namespace tandem
