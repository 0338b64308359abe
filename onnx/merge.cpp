#include "tandem/onnx/merge.h"

#include <algorithm>
#include <cmath>

#include "tandem/autograd/grad_mode.h"
#include "tandem/onnx/fuse.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

class Merger {
 public:
  explicit Merger(Program& program)
      : program_(program), graph_(program.graph), in_bodies_(program.states.size(), false), readers_(program.graph) {
    look();
    mark_bodies(graph_, in_bodies_);
  }

  void run() {
    each([this](std::size_t i) { merge_norm(i); });
    each([this](std::size_t i) { merge_bias(i); });
    each([this](std::size_t i) { merge_gelu(i); });
    each([this](std::size_t i) { merge_gate(i); });
    each([this](std::size_t i) { merge_attention(i); });
    drop_states();
  }

 private:
  // ---- the graph

  void look() {
    readers_ = Readers(graph_);
    maker_.assign(graph_.sources.size(), kNowhere);
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      for (const int value : graph_.nodes[i].outputs)
        if (value >= 0) maker_[static_cast<std::size_t>(value)] = i;
  }
  // Calls f for each node, and then removes those without an operation.
  template <class F>
  void each(const F& f) {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
      if (!is_gone(i)) f(i);
    std::erase_if(graph_.nodes, [](const Node& node) { return node.run == nullptr && node.body == nullptr; });
    look();
  }
  bool is_gone(std::size_t i) const { return graph_.nodes[i].run == nullptr && graph_.nodes[i].body == nullptr; }
  void remove(std::size_t i) { graph_.nodes[i] = Node(); }

  int reads(int value) const { return value < 0 ? 0 : readers_.counts[static_cast<std::size_t>(value)]; }
  bool is(std::size_t i, const char* op) const {
    return i != kNowhere && is_operator(node(i), op) && node(i).outputs.size() == 1;
  }
  // The node with this operator that computes a value that nothing else reads, or kNowhere.
  std::size_t made_by(int value, const char* op) const {
    if (reads(value) != 1) return kNowhere;
    const std::size_t maker = maker_[static_cast<std::size_t>(value)];
    return is(maker, op) ? maker : kNowhere;
  }
  // The node with this operator that alone reads what the node i computes, or kNowhere.
  std::size_t read_by(std::size_t i, const char* op) const {
    const int value = graph_.nodes[i].outputs[0];
    if (reads(value) != 1) return kNowhere;
    const std::size_t reader = readers_.reader[static_cast<std::size_t>(value)];
    return is(reader, op) ? reader : kNowhere;
  }
  const Node& node(std::size_t i) const { return graph_.nodes[i]; }
  int input(std::size_t i, std::size_t at) const {
    return at < graph_.nodes[i].inputs.size() ? graph_.nodes[i].inputs[at] : -1;
  }
  // The other operand of a node with two; -1 if `value` is none of them.
  int other(std::size_t i, int value) const {
    if (graph_.nodes[i].inputs.size() != 2) return -1;
    if (input(i, 0) == value) return input(i, 1);
    return input(i, 1) == value ? input(i, 0) : -1;
  }
  template <class T>
  T attribute(std::size_t i, const char* name, T otherwise) const {
    const T* found = std::get_if<T>(node(i).attribute(name));
    return found == nullptr ? otherwise : *found;
  }
  // A tensor that is given, not computed; undefined if it is computed.
  Tensor given(int value) const {
    if (value < 0) return {};
    const Source& source = graph_.source(value);
    if (source.kind == Source::kState) return program_.states[static_cast<std::size_t>(source.state)].tensor;
    return source.kind == Source::kConstant && source.constant.isTensor() ? source.constant.toTensor() : Tensor();
  }
  // Up to the rounding of float32.
  static bool is_near(double value, double wanted) { return std::abs(value - wanted) <= 1e-6 * std::abs(wanted); }
  tandem::optional<double> number(int value) const {
    const Tensor tensor = given(value);
    if (!tensor.defined() || tensor.numel() != 1 || tensor.dim() > 1 || !isFloatingType(tensor.scalar_type()) ||
        graph_.source(value).kind == Source::kState)
      return nullopt;
    return tensor.item<double>();
  }
  bool is_number(int value, double wanted) const {
    const auto found = number(value);
    return found && is_near(*found, wanted);
  }
  // Puts another operator in the place of node i.
  void replace(std::size_t i, const char* domain, const char* op, std::vector<int> inputs,
               std::vector<std::pair<std::string, Attribute>> attributes) {
    Node& node = graph_.nodes[i];
    node.domain = domain;
    node.op = op;
    node.version = kMaxVersion;
    node.run = find_operator(domain, op);
    node.inputs = std::move(inputs);
    node.attributes = std::move(attributes);
  }

  // A tensor of the state that only one node reads; nullptr for anything else.
  State* own_state(int value) {
    if (reads(value) != 1) return nullptr;
    const Source& source = graph_.source(value);
    const auto at = static_cast<std::size_t>(source.state);
    return source.kind == Source::kState && !in_bodies_[at] ? &program_.states[at] : nullptr;
  }

  // ---- patterns

  void merge_norm(std::size_t i) {
    if (!is_operator(node(i), "BatchNormalization") || node(i).inputs.size() != 5) return;
    const std::vector<int>& outputs = node(i).outputs;
    if (outputs.empty()) return;
    for (std::size_t k = 1; k < outputs.size(); ++k)  // statistics, of a node that the file has in training mode
      if (reads(outputs[k]) != 0) return;
    const std::size_t conv = made_by(input(i, 0), "Conv");
    if (conv == kNowhere || node(conv).inputs.size() > 3 || node(conv).attribute(kActivation) != nullptr) return;
    for (std::size_t k = 1; k < 5; ++k)
      if (!given(input(i, k)).defined()) return;
    const int weight_value = input(conv, 1), bias_value = input(i, 2);
    State* weight = own_state(weight_value);
    State* bias = own_state(bias_value);
    if (weight == nullptr || bias == nullptr || weight->tensor.dim() < 3) return;
    for (std::size_t k = 1; k < 5; ++k)
      if (given(input(i, k)).numel() != weight->tensor.size(0)) return;
    const auto wide = [&](const Tensor& t) { return t.detach().to(weight->tensor.device(), kDouble); };
    const double eps = attribute(i, "epsilon", 1e-5);
    Tensor shift = -wide(given(input(i, 3)));
    if (input(conv, 2) >= 0) {
      if (!given(input(conv, 2)).defined()) return;
      shift = shift + wide(given(input(conv, 2)));
    }
    const Tensor scale = (wide(given(input(i, 4))) + eps).rsqrt() * wide(given(input(i, 1)));
    std::vector<int64_t> per_channel(static_cast<std::size_t>(weight->tensor.dim()), 1);
    per_channel[0] = scale.numel();
    const ScalarType dtype = weight->tensor.scalar_type();
    weight->tensor = (wide(weight->tensor) * scale.view(per_channel)).to(dtype);
    bias->tensor = (shift * scale + wide(bias->tensor)).to(dtype);
    graph_.nodes[conv].inputs = {input(conv, 0), weight_value, bias_value};
    graph_.nodes[conv].outputs = {outputs[0]};
    remove(i);
  }

  void merge_bias(std::size_t i) {
    const std::size_t add = is(i, "MatMul") ? read_by(i, "Add") : kNowhere;
    if (add == kNowhere || node(add).version < 7) return;
    const int bias = other(add, node(i).outputs[0]);
    const Tensor w = given(input(i, 1)), b = given(bias);
    if (!w.defined() || !b.defined() || w.dim() != 2 || b.dim() != 1 || b.size(0) != w.size(1)) return;
    replace(add, kFused, "Linear", {input(i, 0), input(i, 1), bias}, {});
    remove(i);
  }

  // x k for a number k: the value x, and k.
  std::pair<int, double> scaled(int value) const {
    for (const char* op : {"Mul", "Div"}) {
      const std::size_t i = made_by(value, op);
      if (i == kNowhere || node(i).inputs.size() != 2) continue;
      if (const auto k = number(input(i, 1))) return {input(i, 0), *op == 'M' ? *k : 1 / *k};
      if (const auto k = number(input(i, 0)); k && *op == 'M') return {input(i, 1), *k};
    }
    return {value, 1};
  }

  // The node i computes erf(x / √2) or tanh(√(2 / π) (x + 0.044715 x³)); x, or -1.
  int gelu_argument(std::size_t i) const {
    const auto [inner, k] = scaled(input(i, 0));
    if (is(i, "Erf")) return is_near(k, std::sqrt(0.5)) ? inner : -1;
    if (!is(i, "Tanh") || !is_near(k, std::sqrt(2 / M_PI))) return -1;
    const std::size_t sum = made_by(inner, "Add");
    if (sum == kNowhere) return -1;
    for (const std::size_t at : {0, 1}) {
      const auto [cube, factor] = scaled(input(sum, at));
      const std::size_t power = made_by(cube, "Pow");
      if (power != kNowhere && is_near(factor, 0.044715) && is_number(input(power, 1), 3) &&
          input(power, 0) == input(sum, 1 - at))
        return input(power, 0);
    }
    return -1;
  }
  void merge_gelu(std::size_t i) {
    if (!is(i, "Erf") && !is(i, "Tanh")) return;
    const int x = gelu_argument(i);
    const std::size_t add = x < 0 ? kNowhere : read_by(i, "Add");
    if (add == kNowhere || !is_number(other(add, node(i).outputs[0]), 1)) return;
    // The product of x, 1/2 and this sum, in any order.
    std::size_t last = read_by(add, "Mul");
    if (last == kNowhere) return;
    const int factor = other(last, node(add).outputs[0]);
    const auto [half_of, half] = scaled(factor);
    bool whole = half_of == x && half == 0.5;
    if (!whole) {
      const bool has_x = factor == x;
      if (!has_x && !is_number(factor, 0.5)) return;
      const int product = node(last).outputs[0];
      last = read_by(last, "Mul");
      if (last == kNowhere) return;
      const int rest = other(last, product);
      whole = has_x ? is_number(rest, 0.5) : rest == x;
    }
    if (!whole) return;
    replace(last, "", "Gelu", {x}, {{"approximate", std::string(is(i, "Tanh") ? "tanh" : "none")}});
    drop_unread();
  }

  // x sigmoid(x) and x hardsigmoid(x).
  void merge_gate(std::size_t i) {
    const bool hard = is(i, "HardSigmoid");
    if (!hard && !is(i, "Sigmoid")) return;
    if (hard && (!is_near(attribute(i, "alpha", 0.2), 1.0 / 6) || attribute(i, "beta", 0.5) != 0.5)) return;
    const std::size_t product = read_by(i, "Mul");
    if (product == kNowhere || other(product, node(i).outputs[0]) != input(i, 0)) return;
    replace(product, "", hard ? "HardSwish" : "Swish", {input(i, 0)}, {});
    remove(i);
  }

  // softmax(q kᵀ scale + mask) v, with scales before or after the product.
  void merge_attention(std::size_t i) {
    if (!is(i, "Softmax") || node(i).version < 13 || attribute(i, "axis", int64_t{-1}) != -1) return;
    const std::size_t last = read_by(i, "MatMul");
    if (last == kNowhere || input(last, 0) != node(i).outputs[0]) return;
    int scores = input(i, 0), mask = -1;
    if (const std::size_t add = made_by(scores, "Add"); add != kNowhere && node(add).inputs.size() == 2) {
      for (const std::size_t at : {0, 1}) {
        const auto [inner, k] = scaled(input(add, at));
        if (made_by(inner, "MatMul") == kNowhere || mask >= 0) continue;
        scores = input(add, at);
        mask = input(add, 1 - at);
      }
      if (mask < 0) return;
    }
    const auto [product, outer] = scaled(scores);
    const std::size_t first = made_by(product, "MatMul");
    if (first == kNowhere) return;
    const auto [q, q_scale] = scaled(input(first, 0));
    const auto [k, k_scale] = scaled(input(first, 1));
    std::vector<int> inputs{q, k, input(last, 1)};
    if (mask >= 0) inputs.push_back(mask);
    replace(last, kFused, "Attention", std::move(inputs), {{"scale", outer * q_scale * k_scale}});
    remove(i);
    drop_unread();
  }

  // Removes nodes that nothing reads after a replacement, the last ones first.
  void drop_unread() {
    for (bool again = true; again;) {
      again = false;
      look();
      for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
        if (is_gone(i)) continue;
        const bool read = std::ranges::any_of(node(i).outputs, [this](int value) { return reads(value) > 0; });
        const bool pure = node(i).run != nullptr && node(i).captured.empty();
        if (read || !pure || node(i).outputs.size() != 1) continue;
        remove(i);
        again = true;
      }
    }
  }

  void drop_states() {
    std::vector<bool> needed(program_.states.size(), false);
    mark(graph_, needed);
    for (std::size_t i = 0; i < needed.size(); ++i)
      if (!needed[i]) program_.states[i].tensor = Tensor();
  }
  void mark(const Graph& graph, std::vector<bool>& needed) const {
    const auto read = [&](int value) {
      if (value < 0) return;
      const Source& source = graph.source(value);
      if (source.kind == Source::kState) needed[static_cast<std::size_t>(source.state)] = true;
    };
    for (const Node& node : graph.nodes)
      for (const int value : node.inputs) read(value);
    for (const int value : graph.output_values) read(value);
    mark_bodies(graph, needed);
  }
  void mark_bodies(const Graph& graph, std::vector<bool>& needed) const {
    for (const Node& node : graph.nodes) {
      if (node.body != nullptr) mark(*node.body, needed);
      for (const auto& [name, value] : node.attributes)
        if (const auto* body = std::get_if<std::shared_ptr<Graph>>(&value)) mark(**body, needed);
    }
  }

  Program& program_;
  Graph& graph_;
  std::vector<bool> in_bodies_;     // states that bodies read, too
  std::vector<std::size_t> maker_;  // of each value, or kNowhere
  Readers readers_;
};

}  // namespace

void merge(Program& program) {
  NoGradGuard no_grad;
  Merger(program).run();
  fuse(program.graph);
  for (Node& node : program.graph.nodes)
    if (is_operator(node, "Conv") && node.attribute(kLaysOut) == nullptr) {
      node.attributes.emplace_back(kLaysOut, int64_t{1});
      program.graph.laid_out = true;
    }
  schedule(program.graph);
  count_kept_weights(program);
}

}  // namespace tandem::onnx
