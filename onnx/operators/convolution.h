// The convolution of Conv, for its relatives.
#pragma once
#include "tandem/onnx/operators.h"

namespace tandem::onnx {

/// x with the weight and the bias, which may be undefined, and the attributes of Conv.
Tensor convolve(const Call& c, Tensor x, const Tensor& weight, const Tensor& bias);

}  // namespace tandem::onnx
