// tandem inspect for ONNX models, and their tensors for tandem convert.
#include <algorithm>
#include <cstdio>
#include <map>

#include "tandem/cli/draw/plot.h"
#include "tandem/cli/draw/terminal.h"
#include "tandem/cli/onnx/onnx_files.h"
#include "tandem/onnx/fuse.h"
#include "tandem/onnx/program.h"

namespace tandem::cli {
namespace {

std::string shown(const std::string& text) { return printable(fit(text, 60)); }

// How many nodes each operator has, those of bodies included. What the reader has joined with a convolution counts as
// in the file.
void count(const onnx::Graph& graph, std::map<std::string, int64_t>& counts) {
  for (const onnx::Node& node : graph.nodes) {
    ++counts[node.domain.empty() ? node.op : node.domain + "." + node.op];
    if (node.op == "Conv" && node.inputs.size() > onnx::kResidual) ++counts["Add"];
    for (const auto& [name, value] : node.attributes) {
      if (const auto* body = std::get_if<std::shared_ptr<onnx::Graph>>(&value)) count(**body, counts);
      const auto* activation = name == onnx::kActivation ? std::get_if<int64_t>(&value) : nullptr;
      if (activation != nullptr) ++counts[onnx::operator_of(*activation)];
    }
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

OrderedDict<std::string, Tensor> read_onnx_state(const std::string& path) {
  onnx::Program program = onnx::read_program(path);
  OrderedDict<std::string, Tensor> out("Tensor");
  for (onnx::State& state : program.states) out.insert(state.name, std::move(state.tensor));
  return out;
}

}  // namespace tandem::cli
