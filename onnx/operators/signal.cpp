#include "tandem/onnx/operators.h"

namespace tandem::onnx {

std::span<const Operator> signal_operators() { return {}; }

}  // namespace tandem::onnx
