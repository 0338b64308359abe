// A node's backward in anomaly mode.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// Runs node.backward. If it throws, or if it returns NaN (where AnomalyMode asks for this check), prints where the
/// node was recorded and throws.
void backward_in_anomaly_mode(Node& node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs);

}  // namespace tandem::autograd
