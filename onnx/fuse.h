// Fuses nodes that Tandem computes in one pass. Internal to onnx/.
#pragma once
#include "tandem/onnx/program.h"

namespace tandem::onnx {

/// How often each value is read, and by which node the last time. What a body or the graph's outputs read counts twice: no
/// node may be fused with them.
struct Readers {
  explicit Readers(const Graph& graph);
  std::vector<int> counts;
  std::vector<std::size_t> reader;

 private:
  void add(int value, std::size_t node, int times);
};
/// Whether the node is this operator of ai.onnx.
bool is_operator(const Node& node, std::string_view op);
/// The operator that became this FusedActivation.
const char* operator_of(int64_t activation);

/// Moves into a Conv what follows it and nothing else reads: the addition of a residual, then a Relu, a HardSwish or a
/// Clip from 0 to 6. Results keep their bits, with and without gradients.
void fuse(Graph& graph);
/// Notes after which node each value is not needed any more. Call it after the last change of the nodes.
void schedule(Graph& graph);
/// Gives each Conv of the main graph with a weight of the state a place for the packed weight.
void count_kept_weights(Program& program);

}  // namespace tandem::onnx
