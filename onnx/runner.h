// Runner: executes a program. Internal to onnx/.
#pragma once
#include <vector>

#include "tandem/core/memory/kept_weight.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {

/// The values of one execution of a graph.
struct Frame {
  const Graph& graph;
  std::vector<IValue> values;  ///< computed ones
};

/// One forward.
class Runner {
 public:
  /// `kept`: the module's, as many as the program asks for; or nullptr.
  Runner(const std::vector<IValue>& states, KeptWeight* kept, bool training, Device device)
      : states_(states), kept_(kept), training_(training), device_(device) {}

  std::vector<IValue> run(const Graph& graph, std::vector<IValue> inputs);
  /// Runs a body of a node in `around`.
  std::vector<IValue> run_body(const Graph& body, const Frame& around, std::vector<IValue> inputs);
  const IValue& value(const Frame& frame, int value) const;
  KeptWeight* kept(const Node& node) const { return kept_ == nullptr || node.kept < 0 ? nullptr : kept_ + node.kept; }
  bool training() const { return training_; }
  Device device() const { return device_; }
  /// Runs one node; its results are not stored.
  Results call(const Node& node, Frame& frame);

 private:
  std::vector<IValue> execute(Frame& frame, std::vector<IValue> inputs);

  const std::vector<IValue>& states_;
  KeptWeight* kept_;
  bool training_;
  Device device_;
};

}  // namespace tandem::onnx
