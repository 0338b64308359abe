// The graph of an export: what has been recorded, in terms of ONNX operators.
//
// A value is an input, the output of a node, or a constant: a tensor, or a list of integers, which is a tensor int64
// [n] whose entries may depend on the batch size. Nodes are in the order of their execution.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::onnx::exporter {

using Ints = std::vector<int64_t>;
using Id = int32_t;
inline constexpr Id kNoValue = -1;  ///< an input or output that is left out

using Attribute = std::variant<int64_t, double, std::string, Ints, std::vector<std::string>>;
using Attributes = std::map<std::string, Attribute>;

struct Value {
  enum class Kind : uint8_t { kInput, kComputed, kTensor, kInts };
  /// kTensor, once graphs are merged: the tensor; the number ints[0] as its only element; along its only dimension with
  /// several elements, ints[2] numbers from ints[0] on in steps of ints[1].
  enum class Form : uint8_t { kFixed, kNumber, kRange };
  Kind kind = Kind::kComputed;
  ScalarType dtype = kFloat;
  Ints sizes;
  bool varies = false;  ///< depends on an input
  std::string name;     ///< of an input or a tensor of the module's state; otherwise ""
  Tensor tensor;        ///< kTensor; any strides
  int node = -1;        ///< kComputed: its node, while the graph is recorded
  Form form = Form::kFixed;
  Ints ints;    ///< kInts, and of some forms
  Ints slopes;  ///< once graphs are merged: entry i is ints[i] + slopes[i] (batch - recorded batch)
};

struct Node {
  std::string op, domain;
  std::vector<Id> inputs, outputs;
  Attributes attributes;
  std::string kernel;  ///< that it stands for
};

struct Graph {
  std::vector<Value> values;
  std::vector<Node> nodes;
  std::vector<Id> inputs, outputs;
  std::vector<std::string> missing;  ///< kernels that have no translation, each once

  Value& operator[](Id id) { return values[static_cast<std::size_t>(id)]; }
  const Value& operator[](Id id) const { return values[static_cast<std::size_t>(id)]; }
  Id add(Value value) {
    values.push_back(std::move(value));
    return static_cast<Id>(values.size()) - 1;
  }
  /// While the graph is recorded: the node that computes this value, or nullptr.
  const Node* producer(Id id) const {
    const int node = (*this)[id].node;
    return node < 0 ? nullptr : &nodes[static_cast<std::size_t>(node)];
  }
  /// Removes the nodes on which no output depends.
  void remove_unused();
  /// Removes nodes that compute what another one does. For merged graphs: equal sizes are equal for any batch.
  void remove_equal();
};

/// Sizes that depend on the batch size get their slopes in `graph`, which was recorded with `batch`; `other` is the
/// same computation with `other_batch`, for other values. Throws Error naming the kernel where the graphs differ
/// otherwise.
void merge(Graph& graph, int64_t batch, const Graph& other, int64_t other_batch);
/// Throws Error unless `other`, recorded with `other_batch`, is what the merged graph says.
void check_merged(const Graph& graph, int64_t batch, const Graph& other, int64_t other_batch);

}  // namespace tandem::onnx::exporter
