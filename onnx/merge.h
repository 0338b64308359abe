// nn::fuse for an ONNX model. Internal to onnx/.
#pragma once
#include "tandem/onnx/program.h"

namespace tandem::onnx {

/// Replaces patterns of nodes by operations with one pass; results change by rounding only:
///
///   Conv, BatchNormalization    the weight and the bias of the Conv
///   MatMul, Add of a bias       one product
///   MatMul, Softmax, MatMul     attention, with scales and a mask
///   x (1 + erf(x / √2)) / 2     Gelu, and the same for its tanh form; x sigmoid(x): Swish; x hardsigmoid(x): HardSwish
///
/// The tensors of `program.states` must be defined. Those that are not needed any more become undefined.
void merge(Program& program);

}  // namespace tandem::onnx
