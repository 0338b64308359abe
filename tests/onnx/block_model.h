// A model of two convolutions, and how many nodes are left of a model.
#pragma once
#include <sstream>
#include <string>
#include <vector>

#include "model_builder.h"
#include "tandem/onnx/onnx.h"
#include "tandem/tandem.h"

namespace tandem::test {

/// Two convolutions, the second with a residual, each with a normalisation (`norms`, which may be `trained`: in training
/// mode) and an activation.
inline ModelBuilder block(bool norms, bool trained = false, int64_t version = 17) {
  ModelBuilder m(version);
  m.input("x", ::onnx::TensorProto::FLOAT, {"N", "4", "6", "6"}).output("y");
  const auto numbers = [](int64_t count) {
    const Tensor values = rand({count}) + 0.5;
    const auto* data = static_cast<const float*>(values.data_ptr());
    return std::vector<float>(data, data + count);
  };
  const auto conv = [&](const std::string& name, const std::string& from) {
    m.floats(name + ".weight", {4, 4, 3, 3}, numbers(4 * 4 * 9)).floats(name + ".bias", {4}, numbers(4));
    set(m.node("Conv", {from, name + ".weight", name + ".bias"}, {name}), "pads", {1, 1, 1, 1});
    if (!norms) return name;
    for (const char* part : {".g", ".b", ".mean", ".var"}) m.floats(name + part, {4}, numbers(4));
    std::vector<std::string> outputs{name + ".bn"};
    if (trained) outputs.insert(outputs.end(), {name + ".new_mean", name + ".new_var"});
    auto& norm = m.node("BatchNormalization", {name, name + ".g", name + ".b", name + ".mean", name + ".var"}, outputs);
    if (trained && version >= 14) set(norm, "training_mode", 1);
    return name + ".bn";
  };
  m.node("Relu", {conv("c1", "x")}, {"h"});
  m.node("Add", {"x", conv("c2", "h")}, {"sum"});
  m.node("Relu", {"sum"}, {"y"});
  return m;
}

/// The number that printing a model gives.
inline std::size_t node_count(const onnx::Model& model) {
  std::stringstream text;
  text << *model;
  return std::stoul(text.str().substr(text.str().find('(') + 1));
}

}  // namespace tandem::test
