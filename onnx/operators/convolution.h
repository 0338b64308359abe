// The convolution of Conv, for its relatives.
#pragma once
#include "tandem/onnx/operators.h"

namespace tandem::onnx {

/// x with the weight and the bias, and then the addition of a residual, with the attributes of Conv. Bias and residual
/// may be undefined.
Tensor convolve(const Call& c, Tensor x, const Tensor& weight, const Tensor& bias, const Tensor& residual = {});

}  // namespace tandem::onnx
