// Call: a model of one node, which run() makes and calls.
#pragma once
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "model_builder.h"
#include "tandem/tandem.h"

namespace tandem::test {

using Ints = std::vector<int64_t>;
using Value = std::variant<int64_t, double, std::string, Ints, std::vector<double>, std::vector<std::string>>;
using Attributes = std::vector<std::pair<std::string, Value>>;
using Type = ::onnx::AttributeProto;

inline void add(::onnx::NodeProto& node, const std::string& name, const Value& value) {
  if (const auto* number = std::get_if<int64_t>(&value)) set(node, name, *number);
  if (const auto* list = std::get_if<Ints>(&value)) set(node, name, *list);
  if (const auto* number = std::get_if<double>(&value))
    attribute(node, name, Type::FLOAT).set_f(static_cast<float>(*number));
  if (const auto* text = std::get_if<std::string>(&value)) attribute(node, name, Type::STRING).set_s(*text);
  if (const auto* list = std::get_if<std::vector<double>>(&value))
    for (auto& out = attribute(node, name, Type::FLOATS); const double each : *list)
      out.add_floats(static_cast<float>(each));
  if (const auto* list = std::get_if<std::vector<std::string>>(&value))
    for (auto& out = attribute(node, name, Type::STRINGS); const std::string& each : *list) out.add_strings(each);
}

/// Tensors that are undefined are inputs that are left out.
struct Call {
  std::string op;
  std::vector<IValue> inputs;
  Attributes attributes = {};
  int64_t version = 25;
  int outputs = 1;
  std::string domain = {};
};

inline std::vector<IValue> run(const Call& call) {
  ModelBuilder m(call.version);
  std::vector<std::string> names, outputs;
  std::vector<IValue> given;
  for (const IValue& input : call.inputs) {
    const bool missing = input.isTensor() && !input.toTensor().defined();
    names.push_back(missing ? "" : "i" + std::to_string(names.size()));
    if (missing) continue;
    m.graph().add_input()->set_name(names.back());  // of any type
    given.push_back(input);
  }
  for (int i = 0; i < call.outputs; ++i) {
    outputs.push_back("o" + std::to_string(i));
    m.output(outputs.back());
  }
  auto& node = m.node(call.op, names, outputs);
  node.set_domain(call.domain);
  for (const auto& [name, value] : call.attributes) add(node, name, value);
  return m.load()->forward(given);
}

inline Tensor integers(const Ints& list) { return tensor(list, kLong); }
inline Tensor floats(const std::vector<double>& list) { return tensor(list, kFloat); }

inline const Tensor kMissing;

}  // namespace tandem::test
