#include "tandem/onnx/operators.h"

namespace tandem::onnx {

std::span<const Operator> recurrent_operators() { return {}; }

}  // namespace tandem::onnx
