// From a graph to ONNX's messages.
#include "tandem/onnx/export/model_writer.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <unordered_map>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/base/atomic_file.h"
#include "tandem/core/version.h"
#include "tandem/onnx/elementwise.h"
#include "tandem/onnx/export/functions.h"

namespace tandem::onnx::exporter {
namespace {

inline constexpr int64_t kIrVersion = 9;

std::string file_name(const std::string& path) { return path.substr(path.rfind('/') + 1); }

class Writer {
 public:
  Writer(const Graph& graph, const std::string& path, const FileOptions& options)
      : graph_(graph), path_(path), options_(options), names_(graph.values.size()) {
    model_.set_ir_version(kIrVersion);
    model_.set_producer_name("tandem");
    model_.set_producer_version(concat(TANDEM_VERSION_MAJOR, '.', TANDEM_VERSION_MINOR, '.', TANDEM_VERSION_PATCH));
    for (const auto& [key, value] : options.metadata) set(*model_.add_metadata_props(), key, value);
    add_opset("", kOpset);
    to_ = model_.mutable_graph();
    to_->set_name(file_name(path));
    int64_t bytes = 0;
    for (const Value& value : graph.values)
      if (value.kind == Value::Kind::kTensor) bytes += static_cast<int64_t>(value.tensor.nbytes());
    if (bytes > options.max_embedded_bytes) data_.emplace(path + ".data");
  }

  void write() {
    const auto take = [&](const std::string& text) {
      check(taken_.insert(text).second, "onnx::save: two inputs, outputs or tensors of the module have the name ",
            text);
    };
    for (std::size_t i = 0; i < graph_.inputs.size(); ++i) take(name(graph_.inputs[i]) = options_.input_names[i]);
    for (const std::string& output : options_.output_names) take(output);
    for (const Value& value : graph_.values)
      if (value.kind == Value::Kind::kTensor && !value.name.empty()) take(value.name);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
      if (graph_[graph_.outputs[i]].kind == Value::Kind::kComputed && name(graph_.outputs[i]).empty())
        name(graph_.outputs[i]) = options_.output_names[i];
    for (const Id id : graph_.inputs) declare(*to_->add_input(), name(id), graph_[id]);
    for (const Node& node : graph_.nodes) add(node);
    for (std::size_t i = 0; i < graph_.outputs.size(); ++i) {
      const Id id = graph_.outputs[i];
      declare(*to_->add_output(), options_.output_names[i], graph_[id]);
      if (name(id) != options_.output_names[i]) {  // an input or a constant, or an output for the second time
        const std::string input = value_name(id);
        add_node("Identity", {input}).add_output(options_.output_names[i]);
      }
    }
    if (!functions_.empty()) add_opset(kDomain, kDomainVersion);
    add_functions(model_, functions_);
    std::string text;
    check(model_.SerializeToString(&text), "onnx::save: the model could not be written to ", path_);
    AtomicFile file(path_);
    file.write(text);
    if (data_) data_->commit();
    file.commit();
  }

 private:
  void add_opset(const char* domain, int64_t version) {
    proto::OperatorSetIdProto& opset = *model_.add_opset_import();
    opset.set_domain(domain);
    opset.set_version(version);
  }
  static void set(proto::StringStringEntryProto& entry, const std::string& key, const std::string& value) {
    entry.set_key(key);
    entry.set_value(value);
  }
  proto::NodeProto& add_node(const std::string& op, const std::vector<std::string>& inputs) {
    proto::NodeProto& node = *to_->add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    return node;
  }
  std::string& name(Id id) { return names_[static_cast<std::size_t>(id)]; }
  std::string fresh(const std::string& stem) {
    std::string text;
    do text = concat(stem, '_', next_++);
    while (!taken_.insert(text).second);
    return text;
  }

  void declare(proto::ValueInfoProto& to, const std::string& text, const Value& value) {
    to.set_name(text);
    proto::TypeProto_Tensor& type = *to.mutable_type()->mutable_tensor_type();
    type.set_elem_type(data_type_of(value.dtype));
    proto::TensorShapeProto& shape = *type.mutable_shape();
    for (std::size_t d = 0; d < value.sizes.size(); ++d) {
      proto::TensorShapeProto_Dimension& dim = *shape.add_dim();
      const int64_t slope = d < value.slopes.size() ? value.slopes[d] : 0;
      if (slope == 0) dim.set_dim_value(value.sizes[d]);
      if (slope == 1 && value.sizes[d] == options_.batch) dim.set_dim_param("batch");
    }
  }

  // ---- constants

  void add_initializer(const std::string& text, const Tensor& given) {
    proto::TensorProto& to = *to_->add_initializer();
    to.set_name(text);
    write(to, given, data_.has_value());
  }
  // A tensor that is not the module's. An initialiser would invite readers of the file to train it.
  void add_constant(const std::string& text, const Tensor& given) {
    proto::NodeProto& node = add_node("Constant", {});
    node.add_output(text);
    proto::AttributeProto& attribute = *node.add_attribute();
    attribute.set_name("value");
    attribute.set_type(proto::AttributeProto::TENSOR);
    write(*attribute.mutable_t(), given, false);
  }
  void write(proto::TensorProto& to, const Tensor& given, bool apart) {
    NoGradGuard no_grad;
    const Tensor t = given.detach().cpu().contiguous();
    to.set_data_type(data_type_of(t.scalar_type()));
    for (const int64_t size : t.sizes()) to.add_dims(size);
    if (!apart || t.nbytes() < kAlignment) {
      to.set_raw_data(t.data_ptr(), t.nbytes());
      return;
    }
    to.set_data_location(proto::TensorProto::EXTERNAL);
    static constexpr char kZeros[kAlignment] = {};
    data_->write(kZeros, (kAlignment - data_bytes_ % kAlignment) % kAlignment);
    data_bytes_ = (data_bytes_ + kAlignment - 1) / kAlignment * kAlignment;
    set(*to.add_external_data(), "location", file_name(path_) + ".data");
    set(*to.add_external_data(), "offset", std::to_string(data_bytes_));
    set(*to.add_external_data(), "length", std::to_string(t.nbytes()));
    data_->write(t.data_ptr(), t.nbytes());
    data_bytes_ += t.nbytes();
  }

  std::string list(const Ints& values) {
    std::string& text = lists_[values];
    if (!text.empty()) return text;
    text = fresh("sizes");
    proto::TensorProto& to = *to_->add_initializer();
    to.set_name(text);
    to.set_data_type(proto::TensorProto::INT64);
    to.add_dims(static_cast<int64_t>(values.size()));
    to.set_raw_data(values.data(), values.size() * sizeof(int64_t));
    return text;
  }

  // A node that computes sizes; the same one for the same inputs.
  std::string compute(const std::string& op, const std::vector<std::string>& inputs,
                      std::initializer_list<std::pair<const char*, int64_t>> attributes = {}) {
    std::string key = op;
    for (const std::string& input : inputs) key += ' ' + input;
    for (const auto& [attribute_name, value] : attributes) key += concat(' ', attribute_name, '=', value);
    std::string& text = computed_[key];
    if (!text.empty()) return text;
    text = fresh(op == "Concat" ? "sizes" : "batch");
    proto::NodeProto& node = add_node(op, inputs);
    node.set_name(text);
    node.add_output(text);
    for (const auto& [attribute_name, value] : attributes) set(*node.add_attribute(), attribute_name, value);
    return text;
  }

  // slope N + rest as a tensor [1].
  std::string size_of_batch(int64_t slope, int64_t rest) {
    std::string text = compute("Shape", {options_.input_names[0]}, {{"start", 0}, {"end", 1}});
    if (slope != 1) text = compute("Mul", {text, list({slope})});
    if (rest != 0) text = compute("Add", {text, list({rest})});
    return text;
  }

  // A list of sizes. `free`: one that depends on the batch may be -1.
  std::string sizes(const Value& value, bool free) {
    Ints values = value.ints;
    std::size_t dynamic = 0;
    for (std::size_t i = 0; i < values.size(); ++i)
      if (i < value.slopes.size() && value.slopes[i] != 0) {
        ++dynamic;
        if (free) values[i] = -1;
      }
    if (dynamic == 0 || (free && dynamic == 1)) return list(values);
    std::vector<std::string> parts;
    Ints fixed;
    const auto flush = [&] {
      if (!fixed.empty()) parts.push_back(list(fixed));
      fixed.clear();
    };
    for (std::size_t i = 0; i < value.ints.size(); ++i) {
      if (value.slopes[i] == 0) {
        fixed.push_back(value.ints[i]);
        continue;
      }
      flush();
      parts.push_back(size_of_batch(value.slopes[i], value.ints[i] - value.slopes[i] * options_.batch));
    }
    flush();
    return parts.size() == 1 ? parts[0] : compute("Concat", parts, {{"axis", 0}});
  }
  // A constant that depends on the batch size.
  std::string form(const Value& value) {
    const auto size = [&](int64_t scale, int64_t rest, std::size_t entry) {  // scale * entry + rest
      const int64_t slope = value.slopes[entry], begin = value.ints[entry] - slope * options_.batch;
      return size_of_batch(scale * slope, scale * begin + rest);
    };
    std::string text;
    if (value.form == Value::Form::kNumber) {
      text = size(1, 0, 0);
      if (value.sizes.size() != 1) text = compute("Reshape", {text, list(value.sizes)});
    } else {
      const std::string end = compute("Reshape", {size(value.ints[1], value.ints[0], 2), list({})});
      text = compute("Range", {number(value.ints[0]), end, number(value.ints[1])});
      Ints sizes = value.sizes;
      std::replace_if(
          sizes.begin(), sizes.end(), [](int64_t n) { return n != 1; }, -1);
      if (sizes.size() != 1) text = compute("Reshape", {text, list(sizes)});
    }
    if (value.dtype == kLong) return text;
    return compute("Cast", {text}, {{"to", data_type_of(value.dtype)}});
  }
  std::string number(int64_t value) {
    const std::string text = fresh("number");
    add_initializer(text, full({}, value, TensorOptions(kLong)));
    return text;
  }

  std::string value_name(Id id, bool free = false) {
    if (id == kNoValue) return "";
    const Value& value = graph_[id];
    if (value.kind == Value::Kind::kInts) return sizes(value, free);
    if (value.form != Value::Form::kFixed) return form(value);
    std::string& text = name(id);
    if (value.kind == Value::Kind::kTensor && text.empty()) {
      const bool own = !value.name.empty();
      text = own ? value.name : fresh("constant");
      own ? add_initializer(text, value.tensor) : add_constant(text, value.tensor);
    }
    return text;
  }

  // ---- nodes

  void add(const Node& node) {
    std::vector<std::string> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i)
      inputs.push_back(value_name(node.inputs[i], node.op == "Reshape" && i == 1));
    proto::NodeProto& to = add_node(node.op, inputs);
    to.set_domain(node.domain);
    to.set_name(fresh(node.kernel.empty() ? "output" : node.kernel));
    for (std::size_t k = 0; k < node.outputs.size(); ++k) {
      if (node.outputs[k] == kNoValue) {
        to.add_output("");
        continue;
      }
      std::string& text = name(node.outputs[k]);
      if (text.empty()) text = k == 0 ? to.name() : concat(to.name(), '_', k);
      to.add_output(text);
    }
    for (const auto& [key, value] : node.attributes) set(*to.add_attribute(), key, value);
    if (!node.domain.empty()) functions_.insert(node.op);
  }

  static void set(proto::AttributeProto& to, const std::string& key, const Attribute& value) {
    to.set_name(key);
    if (const auto* number = std::get_if<int64_t>(&value)) {
      to.set_type(proto::AttributeProto::INT);
      to.set_i(*number);
    } else if (const auto* real = std::get_if<double>(&value)) {
      to.set_type(proto::AttributeProto::FLOAT);
      to.set_f(static_cast<float>(*real));
    } else if (const auto* text = std::get_if<std::string>(&value)) {
      to.set_type(proto::AttributeProto::STRING);
      to.set_s(*text);
    } else if (const auto* list = std::get_if<Ints>(&value)) {
      to.set_type(proto::AttributeProto::INTS);
      for (const int64_t each : *list) to.add_ints(each);
    } else {
      to.set_type(proto::AttributeProto::STRINGS);
      for (const std::string& each : std::get<std::vector<std::string>>(value)) to.add_strings(each);
    }
  }

  static constexpr std::size_t kAlignment = 64;
  const Graph& graph_;
  const std::string path_;
  const FileOptions& options_;
  proto::ModelProto model_;
  proto::GraphProto* to_ = nullptr;
  std::optional<AtomicFile> data_;
  std::size_t data_bytes_ = 0;
  std::vector<std::string> names_;
  std::set<std::string> taken_, functions_;
  std::map<Ints, std::string> lists_;
  std::map<std::string, std::string> computed_;
  int64_t next_ = 0;
};

}  // namespace

void write_model(const Graph& graph, const std::string& path, const FileOptions& options) {
  Writer(graph, path, options).write();
}

}  // namespace tandem::onnx::exporter
