// What the engine checks of a node's backward.
#pragma once
#include "tandem/autograd/node.h"

namespace tandem::autograd {

/// Makes gradient number `index` match the output that it belongs to, by sums over broadcast dimensions and
/// conversions. Throws Error, in the name of `from`, for other shapes and for another device.
void validate(Tensor& grad, const OutputInfo& info, const char* from, std::size_t index);

/// Runs node.backward. If it throws, or if it returns NaN (where AnomalyMode asks for this check), prints where the
/// node was recorded and throws.
void backward_in_anomaly_mode(Node& node, std::span<Tensor> grad_outputs, std::span<Tensor> grad_inputs);

}  // namespace tandem::autograd
