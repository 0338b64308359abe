// Graphs: what is needed of them, and what they have in common for different batch sizes.
#include "tandem/onnx/export/graph.h"

#include <algorithm>
#include <cstring>

#include "tandem/autograd/ops.h"

namespace tandem::onnx::exporter {

void Graph::remove_unused() {
  std::vector<bool> needed(values.size());
  for (const Id id : outputs) needed[static_cast<std::size_t>(id)] = true;
  std::vector<Node> kept;
  for (std::size_t i = nodes.size(); i-- > 0;) {
    Node& node = nodes[i];
    const auto is_needed = [&](Id id) { return id != kNoValue && needed[static_cast<std::size_t>(id)]; };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), is_needed)) continue;
    for (const Id id : node.inputs)
      if (id != kNoValue) needed[static_cast<std::size_t>(id)] = true;
    while (node.outputs.size() > 1 && !is_needed(node.outputs.back())) node.outputs.pop_back();
    for (Id& id : node.outputs)
      if (!is_needed(id)) id = kNoValue;
    kept.push_back(std::move(node));
  }
  std::reverse(kept.begin(), kept.end());
  nodes = std::move(kept);
}

void Graph::remove_equal() {
  std::vector<Id> same(values.size());
  for (std::size_t i = 0; i < same.size(); ++i) same[i] = static_cast<Id>(i);
  std::map<std::pair<Ints, Ints>, Id> lists;
  for (std::size_t i = 0; i < same.size(); ++i)
    if (const Value& v = values[i]; v.kind == Value::Kind::kInts)
      same[i] = lists.try_emplace({v.ints, v.slopes}, static_cast<Id>(i)).first->second;
  using Key = std::tuple<std::string, std::string, std::vector<Id>, Attributes, std::size_t>;
  std::map<Key, std::vector<Id>> made;
  const auto replace = [&](std::vector<Id>& ids) {
    for (Id& id : ids)
      if (id != kNoValue) id = same[static_cast<std::size_t>(id)];
  };
  for (Node& node : nodes) {
    replace(node.inputs);
    const auto [found, added] =
        made.try_emplace({node.op, node.domain, node.inputs, node.attributes, node.outputs.size()}, node.outputs);
    if (added) continue;
    for (std::size_t k = 0; k < node.outputs.size(); ++k)
      if (node.outputs[k] != kNoValue && found->second[k] != kNoValue)
        same[static_cast<std::size_t>(node.outputs[k])] = found->second[k];
  }
  replace(outputs);
  remove_unused();
}

namespace {

[[noreturn]] void differs(const Node& node, const char* what) {
  fail(
      "onnx::save: what the module computes depends on the batch size or on the values of its inputs in a way that a "
      "file cannot say: ",
      what, " of the kernel ", node.kernel.empty() ? "copy" : node.kernel, " (ONNX's ", node.op,
      ") differs between two runs. For one size only, use dynamic_batch(false)");
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.is_set_to(b)) return true;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor x = a.cpu().contiguous(), y = b.cpu().contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

// The counterparts of two graphs' values.
class Pairs {
 public:
  Pairs(Graph& a, const Graph& b) : a_(a), b_(b), partner_(a.values.size(), kNoValue) {}
  template <class IntsDiffer>
  void compare(IntsDiffer ints_differ) {
    check(a_.inputs.size() == b_.inputs.size() && a_.outputs.size() == b_.outputs.size(),
          "onnx::save: the module has another number of outputs for another batch size");
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) partner(a_.inputs[i]) = b_.inputs[i];
    const std::size_t count = std::min(a_.nodes.size(), b_.nodes.size());
    for (std::size_t i = 0; i < count; ++i) {
      const Node &x = a_.nodes[i], &y = b_.nodes[i];
      if (x.op != y.op || x.domain != y.domain || x.inputs.size() != y.inputs.size() ||
          x.outputs.size() != y.outputs.size())
        differs(x, "the operator");
      if (x.attributes != y.attributes) differs(x, "an attribute");
      for (std::size_t k = 0; k < x.inputs.size(); ++k) compare(x, x.inputs[k], y.inputs[k], ints_differ);
      for (std::size_t k = 0; k < x.outputs.size(); ++k)
        if (x.outputs[k] != kNoValue) partner(x.outputs[k]) = y.outputs[k];
    }
    if (a_.nodes.size() != b_.nodes.size()) differs((a_.nodes.size() > count ? a_ : b_).nodes[count], "the presence");
    const Node output{.op = "output", .kernel = "output"};
    for (std::size_t k = 0; k < a_.outputs.size(); ++k) compare(output, a_.outputs[k], b_.outputs[k], ints_differ);
  }

 private:
  Id& partner(Id id) { return partner_[static_cast<std::size_t>(id)]; }
  template <class IntsDiffer>
  void compare(const Node& node, Id x, Id y, IntsDiffer ints_differ) {
    if ((x == kNoValue) != (y == kNoValue)) differs(node, "an input");
    if (x == kNoValue || partner(x) == y) return;
    Value& v = a_[x];
    const Value& w = b_[y];
    if (partner(x) != kNoValue || v.kind != w.kind || v.dtype != w.dtype || v.name != w.name) differs(node, "an input");
    if (v.kind == Value::Kind::kTensor && !same_bytes(v.tensor, w.tensor)) differs(node, "a constant");
    if (v.kind == Value::Kind::kInts) {
      if (v.ints.size() != w.ints.size()) differs(node, "the number of dimensions");
      ints_differ(node, v, w);
    }
    if (v.kind == Value::Kind::kInput || v.kind == Value::Kind::kComputed) differs(node, "an input");
    partner(x) = y;
  }

  Graph& a_;
  const Graph& b_;
  std::vector<Id> partner_;
};

}  // namespace

void merge(Graph& graph, int64_t batch, const Graph& other, int64_t other_batch) {
  Pairs(graph, other).compare([&](const Node& node, Value& v, const Value& w) {
    v.slopes.assign(v.ints.size(), 0);
    for (std::size_t i = 0; i < v.ints.size(); ++i) {
      const int64_t difference = w.ints[i] - v.ints[i], step = other_batch - batch;
      if (difference == 0) continue;
      if (step == 0 || difference % step != 0) differs(node, "a size");
      v.slopes[i] = difference / step;
    }
  });
  // The sizes of inputs and outputs.
  const auto slopes = [&](const std::vector<Id>& ids, const std::vector<Id>& others) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      Value& v = graph[ids[k]];
      const Value& w = other[others[k]];
      if (v.kind == Value::Kind::kInts) continue;
      v.slopes.assign(v.sizes.size(), 0);
      for (std::size_t d = 0; d < v.sizes.size() && batch != other_batch; ++d)
        v.slopes[d] = (w.sizes[d] - v.sizes[d]) / (other_batch - batch);
    }
  };
  slopes(graph.inputs, other.inputs);
  slopes(graph.outputs, other.outputs);
}

void check_merged(const Graph& graph, int64_t batch, const Graph& other, int64_t other_batch) {
  Pairs(const_cast<Graph&>(graph), other).compare([&](const Node& node, const Value& v, const Value& w) {
    for (std::size_t i = 0; i < v.ints.size(); ++i)
      if (w.ints[i] != v.ints[i] + v.slopes[i] * (other_batch - batch)) differs(node, "a size");
  });
}

}  // namespace tandem::onnx::exporter
