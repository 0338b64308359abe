#include "tandem/onnx/fuse.h"

#include "tandem/core/conv_epilogue.h"

namespace tandem::onnx {
namespace {

bool is_number(const Graph& graph, int value, double number) {
  if (value < 0) return false;
  const Source& source = graph.source(value);
  if (source.kind != Source::kConstant || !source.constant.isTensor()) return false;
  const Tensor& tensor = source.constant.toTensor();
  return tensor.numel() == 1 && !tensor.is_complex() && tensor.item<double>() == number;
}
bool is_relu6(const Graph& graph, const Node& node) {
  if (!is_operator(node, "Clip")) return false;
  if (node.version >= 11)
    return node.inputs.size() == 3 && is_number(graph, node.inputs[1], 0) && is_number(graph, node.inputs[2], 6);
  double low = -1, high = -1;
  for (const auto& [name, value] : node.attributes)
    if (const auto* number = std::get_if<double>(&value)) (name == "min" ? low : high) = *number;
  return low == 0 && high == 6;
}
FusedActivation activation_of(const Graph& graph, const Node& node) {
  if (is_operator(node, "Relu")) return FusedActivation::kRelu;
  if (is_operator(node, "HardSwish")) return FusedActivation::kHardswish;
  return is_relu6(graph, node) ? FusedActivation::kRelu6 : FusedActivation::kIdentity;
}

}  // namespace

Readers::Readers(const Graph& graph) : counts(graph.sources.size(), 0), reader(graph.sources.size(), 0) {
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    for (const int value : graph.nodes[i].inputs) add(value, i, 1);
    for (const int value : graph.nodes[i].captured) add(value, i, 2);
  }
  for (const int value : graph.output_values) add(value, 0, 2);
}
void Readers::add(int value, std::size_t node, int times) {
  if (value < 0) return;
  counts[static_cast<std::size_t>(value)] += times;
  reader[static_cast<std::size_t>(value)] = node;
}

bool is_operator(const Node& node, std::string_view op) {
  return node.domain.empty() && node.run != nullptr && node.op == op;
}

const char* operator_of(int64_t activation) {
  const auto kind = static_cast<FusedActivation>(activation);
  return kind == FusedActivation::kRelu ? "Relu" : kind == FusedActivation::kHardswish ? "HardSwish" : "Clip";
}

void fuse(Graph& graph) {
  const Readers readers(graph);
  std::vector<bool> gone(graph.nodes.size(), false);
  for (std::size_t i = 0; i < graph.nodes.size(); ++i) {
    if (gone[i] || !is_operator(graph.nodes[i], "Conv")) continue;
    for (std::size_t at = i;;) {
      Node& conv = graph.nodes[at];
      if (conv.outputs.size() != 1 || conv.outputs[0] < 0 || conv.attribute(kActivation) != nullptr) break;
      const auto out = static_cast<std::size_t>(conv.outputs[0]);
      if (readers.counts[out] != 1) break;
      const std::size_t next = readers.reader[out];
      Node& reader = graph.nodes[next];
      if (gone[next] || reader.outputs.size() != 1) break;
      if (is_operator(reader, "Add") && conv.inputs.size() <= kResidual && reader.version >= 7 &&
          reader.inputs.size() == 2) {
        // The convolution waits for the residual.
        conv.inputs.resize(kResidual, -1);
        conv.inputs.push_back(reader.inputs[reader.inputs[0] == conv.outputs[0] ? 1 : 0]);
        conv.outputs = reader.outputs;
        reader = std::move(conv);
        gone[at] = true;
        at = next;
        continue;
      }
      const FusedActivation activation = activation_of(graph, reader);
      if (activation == FusedActivation::kIdentity || reader.inputs[0] != conv.outputs[0]) break;
      conv.attributes.emplace_back(kActivation, static_cast<int64_t>(activation));
      conv.outputs = reader.outputs;
      gone[next] = true;
      break;
    }
  }
  std::vector<Node> left;
  for (std::size_t i = 0; i < graph.nodes.size(); ++i)
    if (!gone[i]) left.push_back(std::move(graph.nodes[i]));
  graph.nodes = std::move(left);
}

void schedule(Graph& graph) {
  std::vector<bool> kept(graph.sources.size(), false);
  for (const int output : graph.output_values) kept[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = graph.nodes.size(); i-- > 0;) {
    Node& node = graph.nodes[i];
    node.released.clear();
    const auto last = [&](int value) {
      if (value < 0 || kept[static_cast<std::size_t>(value)]) return;
      kept[static_cast<std::size_t>(value)] = true;
      if (graph.source(value).kind == Source::kComputed) node.released.push_back(value);
    };
    for (const int value : node.inputs) last(value);
    for (const int value : node.captured) last(value);  // bodies read it
    for (const int value : node.outputs) last(value);   // nothing reads it
  }
}

void count_kept_weights(Program& program) {
  program.kept_weights = 0;
  for (Node& node : program.graph.nodes) {
    node.kept = -1;
    if (is_operator(node, "Conv") && node.inputs.size() > 1 && node.inputs[1] >= 0 &&
        program.graph.source(node.inputs[1]).kind == Source::kState)
      node.kept = program.kept_weights++;
  }
}

}  // namespace tandem::onnx
