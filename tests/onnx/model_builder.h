// ModelBuilder: small ONNX models for tests, as Python's onnx.helper makes them.
#pragma once
#include <onnx/onnx_pb.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tandem/onnx/onnx.h"

namespace tandem::test {

namespace proto = ::onnx;

class GraphBuilder {
 public:
  explicit GraphBuilder(proto::GraphProto* graph) : graph_(graph) {}

  /// `sizes`: "N" and the like are unknown.
  GraphBuilder& input(const std::string& name, int type, const std::vector<std::string>& sizes) {
    declare(graph_->add_input(), name, type, sizes);
    return *this;
  }
  GraphBuilder& output(const std::string& name, int type = 0, const std::vector<std::string>& sizes = {}) {
    if (type == 0)
      graph_->add_output()->set_name(name);
    else
      declare(graph_->add_output(), name, type, sizes);
    return *this;
  }
  GraphBuilder& floats(const std::string& name, const std::vector<int64_t>& sizes, const std::vector<float>& values) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(proto::TensorProto::FLOAT);
    for (const int64_t size : sizes) tensor->add_dims(size);
    for (const float value : values) tensor->add_float_data(value);
    return *this;
  }
  GraphBuilder& integers(const std::string& name, const std::vector<int64_t>& values) {
    auto* tensor = graph_->add_initializer();
    tensor->set_name(name);
    tensor->set_data_type(proto::TensorProto::INT64);
    tensor->add_dims(static_cast<int64_t>(values.size()));
    for (const int64_t value : values) tensor->add_int64_data(value);
    return *this;
  }
  /// The node, for its attributes.
  proto::NodeProto& node(const std::string& op, const std::vector<std::string>& inputs,
                         const std::vector<std::string>& outputs) {
    auto* node = graph_->add_node();
    node->set_op_type(op);
    for (const auto& input : inputs) node->add_input(input);
    for (const auto& output : outputs) node->add_output(output);
    return *node;
  }
  proto::GraphProto& graph() { return *graph_; }

 private:
  static void declare(proto::ValueInfoProto* value, const std::string& name, int type,
                      const std::vector<std::string>& sizes) {
    value->set_name(name);
    auto* tensor = value->mutable_type()->mutable_tensor_type();
    tensor->set_elem_type(type);
    auto* shape = tensor->mutable_shape();
    for (const auto& size : sizes) {
      auto* dim = shape->add_dim();
      if (size[0] >= '0' && size[0] <= '9')
        dim->set_dim_value(std::stoll(size));
      else
        dim->set_dim_param(size);
    }
  }
  proto::GraphProto* graph_;
};

struct HeldModel {
  proto::ModelProto model_;
};
class ModelBuilder : HeldModel, public GraphBuilder {  // the model first: the graph is a part of it
 public:
  explicit ModelBuilder(int64_t version = 17) : GraphBuilder(model_.mutable_graph()) {
    model_.set_ir_version(8);
    auto* set = model_.add_opset_import();
    set->set_domain("");
    set->set_version(version);
    graph().set_name("test");
  }
  proto::ModelProto& model() { return model_; }
  std::string bytes() const { return model_.SerializeAsString(); }
  tandem::onnx::Model load() const {
    const std::string file = bytes();
    return tandem::onnx::parse(file.data(), file.size(), "test.onnx");
  }
};

inline proto::AttributeProto& attribute(proto::NodeProto& node, const std::string& name,
                                        proto::AttributeProto::AttributeType type) {
  auto* out = node.add_attribute();
  out->set_name(name);
  out->set_type(type);
  return *out;
}
inline void set(proto::NodeProto& node, const std::string& name, int64_t value) {
  attribute(node, name, proto::AttributeProto::INT).set_i(value);
}
inline void set(proto::NodeProto& node, const std::string& name, const std::vector<int64_t>& values) {
  auto& out = attribute(node, name, proto::AttributeProto::INTS);
  for (const int64_t value : values) out.add_ints(value);
}

}  // namespace tandem::test
