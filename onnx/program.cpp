// Reads a ModelProto into a Program. The file is data that anyone may have written: names, types, sizes and the depth
// of what is nested are checked before they are used.
#include "tandem/onnx/program.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "tandem/autograd/grad_mode.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/nn/files/byte_source.h"
#include "tandem/onnx/fuse.h"
#include "tandem/onnx/operators.h"
#include "tandem/onnx/runner.h"
#include "tandem/onnx/tensor_proto.h"

namespace tandem::onnx {
namespace {

/// Bodies within bodies, and functions that call functions.
constexpr int kMaxDepth = 64;
/// Each call of a function is a copy of its nodes: a program has at most this many, and so many for each in the file.
constexpr int64_t kMaxCopies = 10'000, kMaxCopiesOfNode = 64;
/// What is computed ahead: the product of the inputs' numbers of elements, which bounds that of a result, and the bytes
/// of all results.
constexpr int64_t kMaxFolded = int64_t{1} << 22, kMaxFoldedBytes = int64_t{1} << 28;
/// Elements of all sparse tensors together, whose size the file does not bound.
constexpr int64_t kMaxSparse = int64_t{1} << 28;
/// Elements of equal vectors that get values of their own: far more than networks have.
constexpr int64_t kMaxCopied = int64_t{1} << 24;
/// Integers up to this number are part of the program (sizes, axes), not of the module's state.
constexpr int64_t kMaxListed = 64;

std::string shown(const std::string& domain) { return domain.empty() ? "ai.onnx" : domain; }
// The default domain has two names.
std::string domain_of(const std::string& text) { return text == "ai.onnx" ? "" : text; }

Declared declared(const proto::ValueInfoProto& info) {
  Declared out;
  out.name = info.name();
  const proto::TypeProto& type = info.type();
  if (!type.has_tensor_type()) {
    out.type = type.has_sequence_type()   ? "sequence"
               : type.has_optional_type() ? "optional"
               : type.has_map_type()      ? "map"
                                          : "value";
    return out;
  }
  out.dtype = dtype_of(type.tensor_type().elem_type());
  out.type = type_name(type.tensor_type().elem_type());
  if (!type.tensor_type().has_shape()) return out;
  out.has_sizes = true;
  out.type += " [";
  for (const auto& dim : type.tensor_type().shape().dim()) {
    const bool known = dim.has_dim_value() && dim.dim_value() >= 0;
    out.type += (out.sizes.empty() ? "" : ", ") + (known                     ? std::to_string(dim.dim_value())
                                                   : dim.dim_param().empty() ? "?"
                                                                             : dim.dim_param());
    out.sizes.push_back(known ? dim.dim_value() : -1);
    out.symbols.push_back(known ? "" : dim.dim_param());
  }
  out.type += "]";
  return out;
}

// The attributes of a function that have a default. Debian's headers are older than this field.
std::vector<proto::AttributeProto> default_attributes(const proto::FunctionProto& function) {
  constexpr int kField = 11;
  std::vector<proto::AttributeProto> out;
  const auto& unknown = function.unknown_fields();
  for (int i = 0; i < unknown.field_count(); ++i) {
    const auto& field = unknown.field(i);
    if (field.number() != kField || field.type() != google::protobuf::UnknownField::TYPE_LENGTH_DELIMITED) continue;
    check(out.emplace_back().ParseFromString(field.length_delimited()), "function '", function.name(), "' is damaged");
  }
  return out;
}

// The names of a graph and of the graph around it.
struct Scope {
  Graph& graph;
  Scope* around = nullptr;
  const std::map<std::string, const proto::AttributeProto*>* arguments = nullptr;  // of the function it belongs to
  const std::map<std::string, int64_t>* versions = nullptr;
  std::unordered_map<std::string, int> names{};

  int define(const std::string& name) {
    const int value = graph.add_value(name);
    check(names.emplace(name, value).second, "graph '", graph.name, "' computes '", name, "' twice");
    return value;
  }
  // -1 if there is no such name.
  int find(const std::string& name) {
    if (const auto found = names.find(name); found != names.end()) return found->second;
    if (around == nullptr) return -1;
    const int outer = around->find(name);
    if (outer < 0) return -1;
    const int inner = graph.add_value(name);
    names.emplace(name, inner);
    const Source& source = around->graph.source(outer);
    if (source.kind == Source::kComputed)
      graph.captures.emplace_back(outer, inner);
    else
      graph.source(inner) = source;
    return inner;
  }
};

class Reader {
 public:
  Reader(Program& program, std::string folder) : program_(program), folder_(std::move(folder)) {}

  void read(proto::ModelProto& model) {
    check(model.has_graph(), "it has no graph");
    program_.producer =
        model.producer_name() + (model.producer_version().empty() ? "" : " " + model.producer_version());
    program_.ir_version = model.ir_version();
    for (const auto& entry : model.metadata_props()) program_.metadata.emplace_back(entry.key(), entry.value());
    versions_ = versions(model.opset_import());
    for (const auto& [domain, version] : versions_) program_.operator_sets.emplace_back(shown(domain), version);
    for (const auto& function : model.functions())
      functions_[{domain_of(function.domain()), function.name()}] = &function;
    find_buffers(model.graph());
    for (const auto& function : model.functions()) nodes_in_file_ += function.node_size();
    max_nodes_ = kMaxCopies + kMaxCopiesOfNode * nodes_in_file_;
    Scope scope{program_.graph, nullptr, nullptr, &versions_};
    initialisers_ = model.mutable_graph()->mutable_initializer();
    read_graph(model.graph(), scope, 0);
    count_kept_weights(program_);
    std::string list;
    for (const std::string& name : missing_) list += (list.empty() ? "" : ", ") + name;
    check(missing_.empty(), "Tandem has no operator for ", list);
  }

 private:
  static std::map<std::string, int64_t> versions(
      const google::protobuf::RepeatedPtrField<proto::OperatorSetIdProto>& sets) {
    std::map<std::string, int64_t> out;
    for (const auto& set : sets) out[domain_of(set.domain())] = set.version();
    if (const auto found = out.find(""); found != out.end())
      check(found->second >= 1 && found->second <= kMaxVersion, "it needs operator set ", found->second,
            "; Tandem knows those from 1 to ", kMaxVersion);
    return out;
  }

  // ---- the state

  // Finds initialisers that no optimizer may change, or that only say how large or where something is.
  void find_buffers(const proto::GraphProto& graph, int depth = 0) {
    check(depth < kMaxDepth, "its graphs are nested more than ", kMaxDepth, " deep");
    nodes_in_file_ += graph.node_size();
    for (int at = graph.node_size(); at-- > 0;) {  // from the end on: an Identity leads to what it copies
      const proto::NodeProto& node = graph.node(at);
      const Operator* op = find_operator(domain_of(node.domain()), node.op_type());
      for (int i = 0; i < node.input_size(); ++i) {
        const bool host = depth == 0 && op != nullptr && i < 32 && (op->host >> i & 1) != 0;
        if (!host) read_on_device_.insert(node.input(i));
        ++uses_[node.input(i)];
        if (is_copied(node))
          copied_.insert(node.input(i));
        else
          (is_buffer(node, i) ? buffers_ : trained_).insert(node.input(i));
      }
      for (const auto& attribute : node.attribute())
        if (attribute.has_g()) find_buffers(attribute.g(), depth + 1);
    }
    for (const auto& output : graph.output()) {
      read_on_device_.insert(output.name());
      ++uses_[output.name()];
    }
  }
  // Whether the node copies a buffer. PyTorch's exporter writes equal tensors once, and copies them.
  bool is_copied(const proto::NodeProto& node) const {
    return node.op_type() == "Identity" && node.output_size() == 1 &&
           (buffers_.contains(node.output(0)) || copied_.contains(node.output(0)));
  }
  // Whether an optimizer must not change this input of a node.
  bool is_buffer(const proto::NodeProto& node, int input) const {
    const std::string& op = node.op_type();
    if (op.find("Quantize") != std::string::npos || op.starts_with("QLinear")) return true;
    if (op == "BatchNormalization") return input >= 3;
    const auto function = functions_.find({domain_of(node.domain()), op});
    if (function == functions_.end() || input >= function->second->input_size()) return false;
    const std::string& name = function->second->input(input);
    for (const auto& inner : function->second->node())
      for (int i = 3; i < inner.input_size(); ++i)
        if (inner.op_type() == "BatchNormalization" && inner.input(i) == name) return true;
    return false;
  }
  Source source_of(const std::string& name, Tensor tensor, bool root) {
    const bool floating = isFloatingType(tensor.scalar_type());
    const bool listed = !floating && tensor.dim() <= 1 && tensor.numel() <= kMaxListed;
    if (!root || listed || !read_on_device_.contains(name)) return {Source::kConstant, 0, IValue(std::move(tensor))};
    return new_state(name, std::move(tensor));
  }
  Source new_state(const std::string& name, Tensor tensor) {
    const bool fixed = buffers_.contains(name) || (copied_.contains(name) && !trained_.contains(name));
    program_.states.push_back({name, std::move(tensor), false});
    State& state = program_.states.back();
    // One without dimensions is a number that the network was written with.
    state.parameter = state.tensor.is_floating_point() && !fixed && state.tensor.dim() > 0;
    return {Source::kState, static_cast<int>(program_.states.size()) - 1, {}};
  }
  // PyTorch's exporter writes tensors with equal values once, as those of new normalisations are, and copies them with
  // Identity. Each gets its own values again, under the name that it had. Equal matrices are meant to be shared.
  bool read_copy(const proto::NodeProto& from, const Node& node, Scope& scope) {
    if (&scope.graph != &program_.graph || node.op != "Identity" || !node.domain.empty()) return false;
    if (node.inputs.size() != 1 || node.inputs[0] < 0 || from.output_size() != 1 || from.output(0).empty())
      return false;
    const Source source = scope.graph.source(node.inputs[0]);
    if (source.kind != Source::kState || uses_.at(from.input(0)) < 2) return false;
    const Tensor tensor = program_.states[static_cast<std::size_t>(source.state)].tensor;
    if (tensor.dim() > 1 || tensor.numel() > kMaxCopied - copied_elements_) return false;
    copied_elements_ += tensor.numel();
    const int value = scope.define(from.output(0));
    scope.graph.source(value) = new_state(from.output(0), tensor.clone());
    return true;
  }
  void add_initialisers(const proto::GraphProto& from, Scope& scope, bool root) {
    const auto add = [&](const std::string& name, Tensor tensor) {
      check(!name.empty(), "graph '", from.name(), "' has an initialiser without a name");
      const int value = scope.define(name);
      scope.graph.source(value) = source_of(name, std::move(tensor), root);
    };
    for (int i = 0; i < from.initializer_size(); ++i) {
      if (root) {
        proto::TensorProto& initialiser = *initialisers_->Mutable(i);
        add(initialiser.name(), tensor_of(initialiser, folder_));
        initialiser.clear_raw_data();  // the tensor has it now
      } else {
        add(from.initializer(i).name(), tensor_once(from.initializer(i)));
      }
    }
    for (const auto& sparse : from.sparse_initializer()) add(sparse.values().name(), dense_once(sparse));
  }
  // All calls of a function share its tensors.
  Tensor tensor_once(const proto::TensorProto& from) {
    Tensor& tensor = read_[&from];
    if (!tensor.defined()) tensor = tensor_of(from, folder_);
    return tensor;
  }
  Tensor dense_once(const proto::SparseTensorProto& from) {
    Tensor& tensor = read_[&from];
    if (tensor.defined()) return tensor;
    int64_t count = 1;
    for (const int64_t size : from.dims()) count = multiply_sizes("onnx", count, std::max<int64_t>(size, 0));
    check(count <= kMaxSparse - sparse_, "its sparse tensors have more than ", kMaxSparse, " elements");
    sparse_ += count;
    return tensor = tensor_of(from, folder_);
  }

  // ---- graphs

  void read_graph(const proto::GraphProto& from, Scope& scope, int depth) {
    check(depth < kMaxDepth, "its graphs are nested more than ", kMaxDepth, " deep");
    Graph& graph = scope.graph;
    graph.name = from.name();
    add_initialisers(from, scope, depth == 0);
    for (const auto& input : from.input()) {
      // Files of before 2019 list initialisers as inputs, too.
      if (const auto given = scope.names.find(input.name()); given != scope.names.end()) {
        check_initialiser(declared(input), graph, given->second);
        continue;
      }
      check(!input.name().empty(), "graph '", from.name(), "' has an input without a name");
      graph.inputs.push_back(declared(input));
      graph.input_values.push_back(scope.define(input.name()));
    }
    for (const auto& node : from.node()) read_node(node, scope, depth);
    for (const auto& output : from.output()) add_output(scope, declared(output), "graph '");
    finish(graph);
  }
  static void add_output(Scope& scope, Declared output, const char* what) {
    const int value = scope.find(output.name);
    check(value >= 0, what, scope.graph.name, "' has the output '", output.name, "', which nothing computes");
    scope.graph.outputs.push_back(std::move(output));
    scope.graph.output_values.push_back(value);
  }
  void check_initialiser(const Declared& input, const Graph& graph, int value) const {
    const Source& source = graph.source(value);
    check(source.kind != Source::kComputed, "graph '", graph.name, "' has the input '", input.name, "' twice");
    const Tensor& tensor = source.kind == Source::kState
                               ? program_.states[static_cast<std::size_t>(source.state)].tensor
                               : source.constant.toTensor();
    check(input.dtype == ScalarType::Undefined || input.dtype == tensor.scalar_type(), "'", input.name,
          "' is declared as ", input.type, ", its initialiser is ", tensor);
  }

  void read_node(const proto::NodeProto& from, Scope& scope, int depth) {
    check(++nodes_ <= max_nodes_, "its functions call each other so often that it has more than ", max_nodes_,
          " nodes");
    const std::string domain = domain_of(from.domain());
    const std::string what =
        (from.name().empty() ? "a node" : "node '" + from.name() + "'") + " (" + from.op_type() + ")";
    if (domain.empty() && from.op_type() == "Constant") return read_constant(from, scope, depth, what);
    check(domain != kFused, what, ": this operator exists in memory only");
    check(!domain.empty() || from.op_type() != "Conv" || from.input_size() <= 3, what, " has more than 3 inputs");
    Node node;
    node.name = from.name();
    node.op = from.op_type();
    node.domain = domain;
    if (const auto version = scope.versions->find(domain); version != scope.versions->end())
      node.version = version->second;
    check(!domain.empty() || node.version != 0, what, ": the model does not say which operator set of ai.onnx it uses");
    for (const std::string& input : from.input()) {
      const int value = input.empty() ? -1 : scope.find(input);
      check(input.empty() || value >= 0, what, " reads '", input, "', which nothing before it computes");
      node.inputs.push_back(value);
    }
    while (!node.inputs.empty() && node.inputs.back() < 0) node.inputs.pop_back();
    if (read_copy(from, node, scope)) return;
    const auto function = functions_.find({domain, node.op});
    node.run = find_operator(domain, node.op);
    // Tandem's own functions are operations of Tandem.
    if (function != functions_.end() && (node.run == nullptr || domain.empty())) {
      node.run = nullptr;
      read_function(*function->second, from, node, scope, depth);
    } else if (node.run == nullptr) {
      missing_.insert(node.op + (domain.empty() ? "" : " (" + domain + ")"));
    } else {
      for (const auto& attribute : from.attribute()) {
        const proto::AttributeProto* value = resolve(attribute, scope);
        if (value == nullptr || attribute.name() == kActivation) continue;
        node.attributes.emplace_back(attribute.name(), read_attribute(*value, scope, node, depth, what));
      }
    }
    for (const std::string& output : from.output()) node.outputs.push_back(output.empty() ? -1 : scope.define(output));
    scope.graph.nodes.push_back(std::move(node));
  }

  // The attribute that one of a function's body refers to, or itself. nullptr if the call does not have it.
  static const proto::AttributeProto* resolve(const proto::AttributeProto& attribute, const Scope& scope) {
    if (attribute.ref_attr_name().empty()) return &attribute;
    if (scope.arguments == nullptr) return nullptr;
    const auto found = scope.arguments->find(attribute.ref_attr_name());
    return found == scope.arguments->end() ? nullptr : found->second;
  }

  Attribute read_attribute(const proto::AttributeProto& from, Scope& scope, Node& node, int depth,
                           const std::string& what) {
    using Type = proto::AttributeProto;
    const auto list = [](const auto& values, auto into) {
      into.assign(values.begin(), values.end());
      return into;
    };
    Type::AttributeType type = from.type();
    if (type == Type::UNDEFINED)  // files of before 2017
      type = from.has_i()               ? Type::INT
             : from.has_f()             ? Type::FLOAT
             : from.has_s()             ? Type::STRING
             : from.has_t()             ? Type::TENSOR
             : from.has_g()             ? Type::GRAPH
             : from.floats_size() != 0  ? Type::FLOATS
             : from.strings_size() != 0 ? Type::STRINGS
                                        : Type::INTS;
    switch (type) {
      case Type::INT:
        return from.i();
      case Type::FLOAT:
        return static_cast<double>(from.f());
      case Type::STRING:
        return from.s();
      case Type::TENSOR:
        return tensor_once(from.t());
      case Type::SPARSE_TENSOR:
        return dense_once(from.sparse_tensor());
      case Type::INTS:
        return list(from.ints(), std::vector<int64_t>());
      case Type::FLOATS:
        return list(from.floats(), std::vector<double>());
      case Type::STRINGS:
        return list(from.strings(), std::vector<std::string>());
      case Type::TYPE_PROTO:
        return std::string("type");
      case Type::TENSORS: {
        std::vector<Tensor> out;
        for (const auto& tensor : from.tensors()) out.push_back(tensor_once(tensor));
        return out;
      }
      case Type::GRAPH: {
        auto body = std::make_shared<Graph>();
        Scope inner{*body, &scope, scope.arguments, scope.versions};
        read_graph(from.g(), inner, depth + 1);
        for (const auto& [outer, unused] : body->captures) node.captured.push_back(outer);
        return body;
      }
      default:
        fail(what, ": attribute '", from.name(), "' has a type that Tandem lacks");
    }
  }

  // The call of a function of the model becomes a node with a copy of its body.
  void read_function(const proto::FunctionProto& function, const proto::NodeProto& call, Node& node, Scope& scope,
                     int depth) {
    check(depth < kMaxDepth, "its functions call each other more than ", kMaxDepth, " deep");
    std::map<std::string, const proto::AttributeProto*> arguments;
    const std::vector<proto::AttributeProto> defaults = default_attributes(function);
    for (const auto& attribute : defaults) arguments[attribute.name()] = &attribute;
    for (const auto& attribute : call.attribute())
      if (const auto* value = resolve(attribute, scope); value != nullptr) arguments[attribute.name()] = value;
    std::map<std::string, int64_t> sets = versions(function.opset_import());
    for (const auto& [domain, version] : *scope.versions) sets.emplace(domain, version);
    node.body = std::make_shared<Graph>();
    Graph& graph = *node.body;
    Scope inner{graph, nullptr, &arguments, &sets};
    graph.name = function.name();
    for (const std::string& input : function.input()) {
      graph.inputs.push_back({.name = input});
      graph.input_values.push_back(inner.define(input));
    }
    check(node.inputs.size() <= graph.inputs.size(), "function '", function.name(), "' has ", graph.inputs.size(),
          " inputs, it is called with ", node.inputs.size());
    for (const auto& each : function.node()) read_node(each, inner, depth + 1);
    for (const std::string& output : function.output()) add_output(inner, {.name = output}, "function '");
    finish(graph);
  }

  void read_constant(const proto::NodeProto& from, Scope& scope, int depth, const std::string& what) {
    check(from.output_size() == 1, what, " must have one output");
    Tensor value;
    for (const auto& attribute : from.attribute()) {
      const proto::AttributeProto* given = resolve(attribute, scope);
      if (given == nullptr) continue;
      Node unused;
      check(!given->has_g(), what, " has a graph as its value");
      const Attribute read = read_attribute(*given, scope, unused, depth, what);
      if (const auto* tensor = std::get_if<Tensor>(&read)) value = *tensor;
      if (const auto* number = std::get_if<int64_t>(&read)) value = full({}, *number, kLong);
      if (const auto* number = std::get_if<double>(&read)) value = full({}, *number, kFloat);
      if (const auto* list = std::get_if<std::vector<int64_t>>(&read)) value = tensor(*list, kLong);
      if (const auto* list = std::get_if<std::vector<double>>(&read)) value = tensor(*list, kFloat);
    }
    check(value.defined(), what, " has no number or tensor");
    const int at = scope.define(from.output(0));
    scope.graph.source(at) = {Source::kConstant, 0, IValue(std::move(value))};
  }

  // ---- work that is done once, ahead

  void finish(Graph& graph) {
    if (missing_.empty()) {
      fold(graph);
      fuse(graph);
    }
    schedule(graph);
  }

  // Computes nodes whose inputs are constants. A failure is reported when the node runs.
  void fold(Graph& graph) {
    NoGradGuard no_grad;
    const std::vector<IValue> no_states;
    Runner runner(no_states, nullptr, false, kCPU);
    Frame frame{graph, std::vector<IValue>(graph.sources.size())};
    const auto is_constant = [&](int value) { return value < 0 || graph.source(value).kind == Source::kConstant; };
    const auto is_small = [&](const Node& node) {
      int64_t product = 1;
      for (const int value : node.inputs) {
        if (value < 0) continue;
        const IValue& constant = graph.source(value).constant;
        const int64_t count = constant.isTensor() ? std::max<int64_t>(constant.toTensor().numel(), 1) : kMaxFolded;
        if (count > kMaxFolded / product) return false;
        product *= count;
      }
      return true;
    };
    std::vector<Node> left;
    for (Node& node : graph.nodes) {
      if (node.run != nullptr && node.run->folds_ahead && node.captured.empty() && !node.inputs.empty() &&
          folded_bytes_ < kMaxFoldedBytes && std::all_of(node.inputs.begin(), node.inputs.end(), is_constant) &&
          is_small(node)) {
        try {
          Results results = runner.call(node, frame);
          check(results.size() >= node.outputs.size(), "too few outputs");
          for (const IValue& result : results)
            if (result.isTensor() && result.toTensor().defined())
              folded_bytes_ += static_cast<int64_t>(result.toTensor().nbytes());
          for (std::size_t i = 0; i < node.outputs.size(); ++i)
            if (node.outputs[i] >= 0) graph.source(node.outputs[i]) = {Source::kConstant, 0, std::move(results[i])};
          continue;
        } catch (const std::exception&) {
        }
      }
      left.push_back(std::move(node));
    }
    graph.nodes = std::move(left);
  }

  Program& program_;
  std::string folder_;
  google::protobuf::RepeatedPtrField<proto::TensorProto>* initialisers_ = nullptr;  // of the main graph
  std::map<std::string, int64_t> versions_;
  std::map<std::pair<std::string, std::string>, const proto::FunctionProto*> functions_;
  std::unordered_set<std::string> buffers_, copied_, trained_, read_on_device_;
  std::unordered_map<std::string, int> uses_;
  int64_t copied_elements_ = 0;
  std::set<std::string> missing_;
  std::unordered_map<const void*, Tensor> read_;  // tensors of attributes
  int64_t nodes_in_file_ = 0, nodes_ = 0, max_nodes_ = 0, folded_bytes_ = 0, sparse_ = 0;
};

void check_bytes(uint64_t bytes, const std::string& path) {
  constexpr uint64_t kMaxBytes = 2147483647;  // protobuf's limit
  check(bytes <= kMaxBytes, path, ": a model has at most 2 GB; larger ones keep their data in other files");
}
proto::ModelProto parse(const void* data, std::size_t bytes, const std::string& path) {
  check_bytes(bytes, path);
  google::protobuf::io::ArrayInputStream stream(data, static_cast<int>(bytes));
  google::protobuf::io::CodedInputStream coded(&stream);
  proto::ModelProto model;
  check(model.ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage(), path,
        ": this is not an ONNX model, or it is damaged");
  return model;
}

Program read_model(proto::ModelProto& model, const std::string& path, const std::string& folder) {
  Program out;
  out.path = path;
  try {
    Reader(out, folder).read(model);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  return out;
}

}  // namespace

const Attribute* Node::attribute(std::string_view attribute_name) const {
  for (const auto& [known, value] : attributes)
    if (known == attribute_name) return &value;
  return nullptr;
}

int Graph::add_value(std::string value_name) {
  value_names.push_back(std::move(value_name));
  sources.emplace_back();
  return static_cast<int>(sources.size()) - 1;
}

Program parse_program(const void* data, std::size_t bytes, const std::string& path, const std::string& folder) {
  proto::ModelProto model = parse(data, bytes, path);
  return read_model(model, path, folder);
}
Program read_program(const std::string& path) {
  proto::ModelProto model;
  {  // the file's bytes are freed before the tensors are made
    const auto source = serialize::open_file(path);
    check_bytes(source->size(), path);
    std::string bytes(source->size(), '\0');
    serialize::read_with_threads(*source, bytes.data(), 0, bytes.size());
    model = parse(bytes.data(), bytes.size(), path);
  }
  const std::size_t slash = path.rfind('/');
  return read_model(model, path, slash == std::string::npos ? "." : path.substr(0, slash + 1));
}

}  // namespace tandem::onnx
