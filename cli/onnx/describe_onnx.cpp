// ONNX models in tandem inspect, which lists what is in them, and tandem summary, which runs each node on zeros.
#include <algorithm>
#include <cstdio>
#include <map>
#include <unordered_set>

#include "tandem/autograd/ops.h"
#include "tandem/cli/commands/layer_table.h"
#include "tandem/cli/draw/plot.h"
#include "tandem/cli/message.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/cli/options.h"
#include "tandem/onnx/fuse.h"
#include "tandem/onnx/program.h"
#include "tandem/onnx/runner.h"

namespace tandem::cli {
namespace {

std::string shown(const std::string& text) { return printable(fit(text, 60)); }

// The operators of a node in the file: the reader may have joined others with a convolution.
std::vector<std::string> operators_of(const onnx::Node& node) {
  std::vector<std::string> out{node.domain.empty() ? node.op : node.domain + "." + node.op};
  if (node.op != "Conv") return out;
  if (node.inputs.size() > onnx::kResidual) out.emplace_back("Add");
  for (const auto& [name, value] : node.attributes)
    if (const auto* activation = std::get_if<int64_t>(&value); name == onnx::kActivation && activation != nullptr)
      out.emplace_back(onnx::operator_of(*activation));
  return out;
}

// How many nodes each operator has, nodes in bodies included.
void count(const onnx::Graph& graph, std::map<std::string, int64_t>& counts) {
  for (const onnx::Node& node : graph.nodes) {
    for (const std::string& name : operators_of(node)) ++counts[name];
    for (const auto& [name, value] : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&value)) count(**body, counts);
  }
}

std::string described_nodes(const onnx::Graph& graph) {
  std::map<std::string, int64_t> counts;
  count(graph, counts);
  std::vector<std::pair<std::string, int64_t>> most(counts.begin(), counts.end());
  std::stable_sort(most.begin(), most.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  int64_t all = 0;
  std::string list;
  for (const auto& [name, number] : most) {
    all += number;
    list += concat(list.empty() ? "" : ", ", number, " ", name);
  }
  return most.empty() ? "0" : concat(all, ": ", list);
}

void print_line(const char* title, const std::string& text) {
  std::printf("%-9s %s\n", title, printable(text).c_str());
}

constexpr double kMaxInputValues = 1 << 28;

// Zeros for an input of the model.
Tensor zeros_for(const onnx::Declared& input, const std::vector<int64_t>& wanted, std::optional<int64_t> batch_size) {
  check(input.dtype != ScalarType::Undefined, "its input ", input.name, " is a ", input.type,
        "; a summary needs tensors");
  std::vector<int64_t> sizes = input.sizes;
  if (!input.has_sizes) {
    sizes = wanted;
    sizes.insert(sizes.begin(), batch_size.value_or(1));
  }
  const bool known =
      std::all_of(sizes.begin() + (sizes.empty() ? 0 : 1), sizes.end(), [](int64_t s) { return s >= 0; });
  if (!known || !wanted.empty()) {
    require(wanted.size() + 1 == sizes.size(), "--input: expected the sizes of ", input.name, ", ", input.type,
            ", without the first: ", sizes.size() - 1, " numbers");
    for (std::size_t i = 1; i < sizes.size(); ++i) {
      require(sizes[i] < 0 || sizes[i] == wanted[i - 1], "--input ", wanted, ": ", input.name, " must be ", input.type);
      sizes[i] = wanted[i - 1];
    }
  }
  if (!sizes.empty() && sizes[0] < 0) sizes[0] = batch_size.value_or(1);
  require(sizes.empty() || !batch_size || sizes[0] == *batch_size, "--batch-size ", batch_size.value_or(1), ": ",
          input.name, " must be ", input.type);
  double values = 1;
  for (const int64_t size : sizes) values *= static_cast<double>(size);
  check(values <= kMaxInputValues, "its input ", input.name, ", ", input.type,
        ", is too large for a summary: ", IntArrayRef(sizes));
  return zeros(sizes, input.dtype);
}

bool moves_only(const std::string& op) {
  static const std::unordered_set<std::string> names{
      "Cast",     "Concat",    "Constant",  "ConstantOfShape", "Dropout", "Expand",       "Flatten", "Gather",
      "Identity", "Pad",       "Reshape",   "Shape",           "Size",    "Slice",        "Split",   "Squeeze",
      "Tile",     "Transpose", "Unsqueeze", "Range",           "EyeLike", "DepthToSpace", "Where",   "CastLike"};
  return names.contains(op);
}

Work work_of(const onnx::Node& node, const std::vector<Tensor>& inputs, const Tensor& out) {
  if (!out.defined()) return {};
  const bool two = inputs.size() >= 2 && inputs[0].defined() && inputs[1].defined();
  const bool bias = inputs.size() > 2 && inputs[2].defined();
  if (two && inputs[1].dim() > 1 && inputs[1].size(0) > 0) {
    const int64_t per_output = inputs[1].numel() / inputs[1].size(0);
    if (node.op == "Conv") return products(out.numel(), per_output, bias);
    if (node.op == "ConvTranspose") return products(inputs[0].numel(), per_output, bias);
  }
  if (two && inputs[0].dim() > 0 && inputs[1].dim() > 0 && out.numel() > 0) {
    if (node.op == "Gemm") return products(out.numel(), inputs[1].numel() / std::max<int64_t>(1, out.size(-1)), bias);
    if (node.op == "MatMul") return products(out.numel(), inputs[0].size(-1), false);
  }
  return {moves_only(node.op) ? 0 : out.numel(), 0};
}

class NodeRows {
 public:
  NodeRows(const onnx::Program& program, LayerTable& table) : program_(program), table_(table) {}

  void add(const std::string& name, const std::string& kind, const Tensor& out, int64_t parameters, Work work) {
    const double bytes = out.defined() ? static_cast<double>(out.nbytes()) : 0;
    require(table_.add(
                {printable(name), printable(kind), out.defined() ? concat(out.sizes()) : "", parameters, bytes, work}),
            "the number of operations does not fit in 63 bits");
  }

  void run(const onnx::Graph& graph, onnx::Runner& runner, onnx::Frame& frame) {
    for (const onnx::Node& node : graph.nodes) {
      std::vector<Tensor> inputs;
      for (const int value : node.inputs) {
        const IValue given = value < 0 ? IValue() : runner.value(frame, value);
        inputs.push_back(given.isTensor() ? given.toTensor() : Tensor());
      }
      onnx::Results results;
      try {
        results = runner.call(node, frame);
        check(results.size() >= node.outputs.size(), "it has too few outputs");
      } catch (const Error& error) {
        fail(node.name.empty() ? node.op : "node '" + node.name + "' (" + node.op + ")", ": ", error.what());
      }
      const Tensor out = !results.empty() && results[0].isTensor() ? results[0].toTensor() : Tensor();
      add(name_of(graph, node), join(operators_of(node), ", "), out, parameters_of(graph, node),
          work_of(node, inputs, out));
      for (std::size_t i = 0; i < node.outputs.size(); ++i)
        if (node.outputs[i] >= 0) frame.values[static_cast<std::size_t>(node.outputs[i])] = std::move(results[i]);
      for (const int value : node.released) frame.values[static_cast<std::size_t>(value)] = IValue();
    }
  }

 private:
  // Nodes need no names; values have one.
  static std::string name_of(const onnx::Graph& graph, const onnx::Node& node) {
    if (!node.name.empty() || node.outputs.empty() || node.outputs[0] < 0) return node.name;
    return graph.value_names[static_cast<std::size_t>(node.outputs[0])];
  }
  // Those that no node before it has read. Bodies have the states that they read among their own values.
  int64_t parameters_of(const onnx::Graph& graph, const onnx::Node& node) {
    int64_t count = 0;
    for (const int value : node.inputs)
      if (value >= 0) count += new_parameters(graph.sources[static_cast<std::size_t>(value)]);
    if (node.body) count += parameters_in(*node.body);
    for (const auto& [name, value] : node.attributes)
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&value)) count += parameters_in(**body);
    return count;
  }
  int64_t parameters_in(const onnx::Graph& body) {
    int64_t count = 0;
    for (const onnx::Source& source : body.sources) count += new_parameters(source);
    for (const onnx::Node& node : body.nodes) count += parameters_of(body, node);
    return count;
  }
  int64_t new_parameters(const onnx::Source& source) {
    if (source.kind != onnx::Source::kState || !seen_.insert(source.state).second) return 0;
    const onnx::State& state = program_.states[static_cast<std::size_t>(source.state)];
    return state.parameter ? state.tensor.numel() : 0;
  }

  const onnx::Program& program_;
  LayerTable& table_;
  std::unordered_set<int> seen_;
};

void fill(const onnx::Program& program, const std::vector<int64_t>& input, std::optional<int64_t> batch_size,
          LayerTable& table) {
  std::vector<IValue> states;
  for (const onnx::State& state : program.states) states.emplace_back(state.tensor);
  const onnx::Graph& graph = program.graph;
  onnx::Runner runner(states, nullptr, /*training=*/false, Device(kCPU, 0));
  onnx::Frame frame{graph, std::vector<IValue>(graph.sources.size())};
  NodeRows rows(program, table);
  for (std::size_t i = 0; i < graph.inputs.size(); ++i) {
    const Tensor x = zeros_for(graph.inputs[i], input, batch_size);
    rows.add(graph.inputs[i].name, "", x, 0, {});
    frame.values[static_cast<std::size_t>(graph.input_values[i])] = x;
  }
  rows.run(graph, runner, frame);
}

}  // namespace

void inspect_onnx(const std::string& path) {
  const onnx::Program program = onnx::read_program(path);
  print_line("model", concat(program.producer.empty() ? "" : "by " + program.producer + ", ", "IR version ",
                             program.ir_version));
  for (const auto& [domain, version] : program.operator_sets) print_line("operators", concat(domain, " ", version));
  for (const onnx::Declared& each : program.graph.inputs) print_line("input", each.name + ": " + each.type);
  for (const onnx::Declared& each : program.graph.outputs) print_line("output", each.name + ": " + each.type);
  print_line("nodes", described_nodes(program.graph));
  for (const auto& [key, value] : program.metadata) print_line("metadata", shown(key) + ": " + shown(value));
  using Align = Table::Align;
  Table table{{{"name"}, {"type"}, {"shape"}, {"kind"}, {"bytes", Align::kRight}}};
  int64_t values = 0;
  double bytes = 0;
  for (const onnx::State& state : program.states) {
    const auto own = static_cast<double>(state.tensor.nbytes());
    table.add_row({printable(state.name), name(state.tensor.dtype()), concat(state.tensor.sizes()),
                   state.parameter ? "parameter" : "buffer", byte_size(own)});
    values += state.tensor.numel();
    bytes += own;
  }
  table.add_rule();
  const std::size_t tensors = program.states.size();
  table.add_row({"total", concat(tensors, tensors == 1 ? " tensor" : " tensors"), with_commas(values) + " values", "",
                 byte_size(bytes)});
  std::fputs(table.text(detect_terminal()).c_str(), stdout);
}

void summarize_onnx(const std::string& path, const std::vector<int64_t>& input, std::optional<int64_t> batch_size) {
  const onnx::Program program = onnx::read_program(path);
  const NoGradGuard guard;
  LayerTable table;
  try {
    fill(program, input, batch_size, table);
  } catch (const UsageError& error) {
    refuse(error.what(), " of ", path);
  } catch (const Error& error) {
    fail(path, ": ", error.what());
  }
  table.print(batch_size.value_or(1));
}

}  // namespace tandem::cli
