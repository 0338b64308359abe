// Fuses nodes that Tandem computes in one pass. Internal to onnx/.
#pragma once
#include "tandem/onnx/program.h"

namespace tandem::onnx {

/// Moves into a Conv what follows it and nothing else reads: the addition of a residual, then a Relu or a Clip from 0
/// to 6. Results keep their bits, with and without gradients.
void fuse(Graph& graph);

}  // namespace tandem::onnx
