// One layer of a recurrent network in one direction. Internal to the recurrent operations.
#pragma once
#include "tandem/core/backend/recurrent.h"

namespace tandem::autograd {

struct RecurrentWeights {
  Tensor w_ih, w_hh;
  Tensor b_ih, b_hh;  ///< both or none
  Tensor w_hr;        ///< the projection of an LSTM, or undefined
};
struct RecurrentState {
  Tensor out;  ///< [N, P], in the order of the input
  Tensor h, c;
};

/// Of the packed input, in order of time. batch_sizes are positive and do not increase.
RecurrentSteps recurrent_steps(IntArrayRef batch_sizes);

/// input [N, I], h [B, P], c [B, H] (LSTM), where B is the largest step and N the sum of all. `reverse` runs from the
/// last step to the first. `operation` names it in messages. Checks all shapes, dtypes and devices.
RecurrentState recurrent_layer(const char* operation, RecurrentKind kind, const Tensor& input,
                               const RecurrentSteps& steps, bool reverse, const Tensor& h, const Tensor& c,
                               const RecurrentWeights& weights);

/// The same as a composition of differentiable operations, without checks.
RecurrentState composed_layer(RecurrentKind kind, const Tensor& input, const RecurrentSteps& steps, bool reverse,
                              const Tensor& h, const Tensor& c, const RecurrentWeights& weights);

}  // namespace tandem::autograd
