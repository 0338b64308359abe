// Program: the graphs of an ONNX model, checked and ready to run. Internal to onnx/.
#pragma once
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "tandem/autograd/ivalue.h"
#include "tandem/core/tensor.h"

namespace tandem::onnx {

struct Graph;
struct Operator;
using Attribute = std::variant<int64_t, double, std::string, Tensor, std::shared_ptr<Graph>, std::vector<int64_t>,
                               std::vector<double>, std::vector<std::string>, std::vector<Tensor>>;

/// The declaration of a graph's input or output.
struct Declared {
  std::string name;
  ScalarType dtype = ScalarType::Undefined;  ///< Undefined: not a tensor, or no type given
  bool has_sizes = false;
  std::vector<int64_t> sizes;        ///< -1: unknown
  std::vector<std::string> symbols;  ///< names of unknown sizes, or ""
  std::string type;                  ///< "float32 [N, 3, 224, 224]", for messages
};

/// Where a value comes from: an input or a node of the graph, the module's state, or a constant.
struct Source {
  enum Kind : uint8_t { kComputed, kState, kConstant } kind = kComputed;
  int state = 0;
  IValue constant;
};

/// The newest operator set of the default domain whose definitions were read.
inline constexpr int64_t kMaxVersion = 28;

/// fuse.h adds these to a Conv: a further input, and an attribute with a FusedActivation.
inline constexpr std::size_t kResidual = 3;
inline constexpr const char* kActivation = "tandem.activation";
/// merge.h adds this to a Conv whose result may be channels-last.
inline constexpr const char* kLaysOut = "tandem.lays_out";

struct Node {
  std::string name, op, domain;
  int64_t version = 0;            ///< of the domain's operator set
  const Operator* run = nullptr;  ///< nullptr for the call of a function, whose body is `body`
  std::shared_ptr<Graph> body;
  std::vector<std::pair<std::string, Attribute>> attributes;
  int kept = -1;                     ///< of the module's KeptWeights; -1: none
  std::vector<int> inputs, outputs;  ///< values of the graph; -1: left out
  std::vector<int> captured;         ///< further values of the graph that the bodies read
  std::vector<int> released;         ///< values that nothing reads after this node
  /// nullptr if it has none of this name.
  const Attribute* attribute(std::string_view attribute_name) const;
};

/// Values are numbered. Nodes are in the order of their execution.
struct Graph {
  std::string name;
  bool laid_out = false;  ///< by merge.h: values may be channels-last, and outputs become contiguous
  std::vector<Node> nodes;
  std::vector<Declared> inputs, outputs;
  std::vector<int> input_values, output_values;
  std::vector<std::string> value_names;
  std::vector<Source> sources;                ///< of each value
  std::vector<std::pair<int, int>> captures;  ///< of a body: values of the graph around it, and values of this one
  int add_value(std::string value_name);
  Source& source(int value) { return sources[static_cast<std::size_t>(value)]; }
  const Source& source(int value) const { return sources[static_cast<std::size_t>(value)]; }
};

/// An initialiser that is part of the module's state.
struct State {
  std::string name;
  Tensor tensor;
  bool parameter = false;  ///< trained; otherwise a buffer
};

struct Program {
  std::string path, producer;
  int64_t ir_version = 0;
  std::vector<std::pair<std::string, int64_t>> operator_sets;
  std::vector<std::pair<std::string, std::string>> metadata;
  std::vector<State> states;
  int kept_weights = 0;
  Graph graph;
};

/// Reads a ModelProto. Throws Error, naming `path` and what is wrong: see load().
Program read_program(const std::string& path);
Program parse_program(const void* data, std::size_t bytes, const std::string& path, const std::string& folder);

}  // namespace tandem::onnx
