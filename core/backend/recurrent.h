// Recurrent layers: all time steps of one layer in one direction, after the projection of the input. A step takes its rows
// of the tensors that hold all N rows, and rows from 0 of the states. All tensors are contiguous, of one dtype (float32 or
// float64). G is the number of gates.
#pragma once
#include <vector>

#include "tandem/core/backend/kernel.h"

namespace tandem {

enum class RecurrentKind : int8_t { kLstm, kGru, kTanh, kRelu };
constexpr int64_t gate_count(RecurrentKind kind) {
  return kind == RecurrentKind::kLstm ? 4 : kind == RecurrentKind::kGru ? 3 : 1;
}

/// The rows of one time step: `rows` of the N from `at` on.
struct RecurrentStep {
  int64_t at, rows;
};
/// In the order in which a kernel goes through them. Later in time there are never more rows.
using RecurrentSteps = std::vector<RecurrentStep>;

/// Adds the product of the state and the weight to each step's gates, and writes the new state to h, c and out. If h_prev
/// is defined, also writes what backward needs.
struct RecurrentForward {
  RecurrentKind kind;
  RecurrentSteps steps;
  Tensor weight;     ///< [G H, H]
  Tensor gates;      ///< [N, G H]: in: of the input, before the activations; out: activated, if h_prev is defined
  Tensor h, c;       ///< [B, H]: the state; c only of an LSTM
  Tensor out;        ///< [N, H]
  Tensor bias;       ///< GRU: [3 H], added to the product
  Tensor h_prev;     ///< [N, H]: the state before the step
  Tensor c_prev;     ///< LSTM: [N, H]
  Tensor candidate;  ///< GRU: [N, H], the last third of the product with its bias
};

/// From the gradient of each step's new state to the gradients of its gates before their activations and of the state
/// before all steps, which leaves out the part through the first step's gates unless `of_state`.
struct RecurrentBackward {
  RecurrentKind kind;
  RecurrentSteps steps;
  Tensor weight;                            ///< [G H, H]
  Tensor gates, h_prev, c_prev, candidate;  ///< as saved
  Tensor grad;                              ///< [N, H], of out
  Tensor dh, dc;                            ///< [B, H]: in: of the last state; out: of the first
  Tensor d_gates;                           ///< [N, G H]
  Tensor d_hidden;                          ///< GRU: [N, 3 H], of the product
  bool of_state = true;
};

struct RecurrentKernels {
  Kernel<"recurrent_forward", void(const RecurrentForward& layer)> forward;
  Kernel<"recurrent_backward", void(const RecurrentBackward& layer)> backward;
};

}  // namespace tandem
