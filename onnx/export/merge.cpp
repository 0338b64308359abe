// Merges graphs for different batch sizes: the same nodes, with integers that are linear functions of the
// size. A list of sizes has its own function for each entry; a constant may be one such number, or the numbers from 0
// to one in equal steps.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "tandem/autograd/ops.h"
#include "tandem/onnx/export/graph.h"

namespace tandem::onnx::exporter {
namespace {

[[noreturn]] void differs(const Node& node, const char* what) {
  fail(
      "onnx::save: what the module computes depends on the batch size or on the values of its inputs in a way that a "
      "file cannot say: ",
      what, " of the kernel ", node.kernel.empty() ? "copy" : node.kernel, " (ONNX's ", node.op,
      ") differs between two runs. For one size only, use dynamic_batch = false");
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  if (a.is_set_to(b)) return true;
  if (a.sizes() != b.sizes() || a.scalar_type() != b.scalar_type()) return false;
  const Tensor x = a.cpu().contiguous(), y = b.cpu().contiguous();
  return x.numel() == 0 || std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

// The integers of a constant as `ints`: the number itself, or start, step and count. Empty if it is neither.
Ints integers_of(const Tensor& t, Value::Form form) {
  if (t.numel() == 0 || t.numel() > (1 << 24) || t.is_complex()) return {};
  if (std::any_of(t.sizes().begin(), t.sizes().end(), [&](int64_t n) { return n != 1 && n != t.numel(); })) return {};
  const Tensor all = t.cpu().to(kDouble).reshape({-1}).contiguous();
  const double *from = all.data_ptr<double>(), *end = from + all.numel();
  if (std::any_of(from, end, [](double v) { return v != std::floor(v) || std::fabs(v) > 0x1p52; })) return {};
  const auto at = [&](int64_t i) { return static_cast<int64_t>(from[i]); };
  if (form == Value::Form::kNumber) return all.numel() == 1 ? Ints{at(0)} : Ints{};
  if (all.numel() < 2 || at(1) == at(0)) return {};
  for (int64_t i = 2; i < all.numel(); ++i)
    if (at(i) - at(i - 1) != at(1) - at(0)) return {};
  return {at(0), at(1) - at(0), all.numel()};
}

// The counterparts of two graphs' values.
class Pairs {
 public:
  Pairs(Graph& a, int64_t batch, const Graph& b, int64_t other_batch, bool merges)
      : a_(a), b_(b), step_(other_batch - batch), merges_(merges), partner_(a.values.size(), kNoValue) {}

  void compare() {
    check(a_.inputs.size() == b_.inputs.size() && a_.outputs.size() == b_.outputs.size(),
          "onnx::save: the module has another number of outputs for another batch size");
    for (std::size_t i = 0; i < a_.inputs.size(); ++i) partner(a_.inputs[i]) = b_.inputs[i];
    const std::size_t count = std::min(a_.nodes.size(), b_.nodes.size());
    for (std::size_t i = 0; i < count; ++i) compare(a_.nodes[i], b_.nodes[i]);
    if (a_.nodes.size() != b_.nodes.size()) differs((a_.nodes.size() > count ? a_ : b_).nodes[count], "the presence");
    const Node output{.op = "output", .kernel = "output"};
    for (std::size_t k = 0; k < a_.outputs.size(); ++k) compare(output, a_.outputs[k], b_.outputs[k]);
  }

 private:
  Id& partner(Id id) { return partner_[static_cast<std::size_t>(id)]; }

  void compare(const Node& x, const Node& y) {
    if (x.op != y.op || x.domain != y.domain || x.inputs.size() != y.inputs.size() ||
        x.outputs.size() != y.outputs.size())
      differs(x, "the operator");
    if (x.attributes != y.attributes) differs(x, "an attribute");
    for (std::size_t k = 0; k < x.inputs.size(); ++k) compare(x, x.inputs[k], y.inputs[k]);
    for (std::size_t k = 0; k < x.outputs.size(); ++k)
      if (x.outputs[k] != kNoValue) partner(x.outputs[k]) = y.outputs[k];
  }

  void compare(const Node& node, Id x, Id y) {
    if ((x == kNoValue) != (y == kNoValue)) differs(node, "an input");
    if (x == kNoValue || partner(x) == y) return;
    Value& v = a_[x];
    const Value& w = b_[y];
    if (partner(x) != kNoValue || v.kind != w.kind || v.dtype != w.dtype || v.name != w.name) differs(node, "an input");
    if (v.kind == Value::Kind::kTensor && !fits(v, w.tensor)) differs(node, "a constant");
    if (v.kind == Value::Kind::kInts && !fits(v, w.ints)) differs(node, "a size");
    if (v.kind == Value::Kind::kInput || v.kind == Value::Kind::kComputed) differs(node, "an input");
    partner(x) = y;
  }

  bool fits(Value& v, const Ints& others) const {
    if (v.ints.size() != others.size()) return false;
    if (merges_) v.slopes.assign(v.ints.size(), 0);
    for (std::size_t i = 0; i < others.size(); ++i) {
      const int64_t difference = others[i] - v.ints[i];
      if (difference == 0 && v.slopes[i] == 0) continue;
      if (step_ == 0 || difference % step_ != 0) return false;
      if (merges_) v.slopes[i] = difference / step_;
      if (v.slopes[i] != difference / step_) return false;
    }
    return true;
  }
  bool fits(Value& v, const Tensor& other) const {
    if (v.form == Value::Form::kFixed && same_bytes(v.tensor, other)) return true;
    if (v.form != Value::Form::kFixed) return fits(v, integers_of(other, v.form));
    if (!merges_ || step_ == 0 || !v.name.empty()) return false;
    for (const Value::Form form : {Value::Form::kNumber, Value::Form::kRange}) {
      v.ints = integers_of(v.tensor, form);
      if (v.ints.empty() || !fits(v, integers_of(other, form))) continue;
      if (form == Value::Form::kRange && (v.slopes[0] != 0 || v.slopes[1] != 0)) continue;
      v.form = form;
      return true;
    }
    return false;
  }

  Graph& a_;
  const Graph& b_;
  const int64_t step_;
  const bool merges_;
  std::vector<Id> partner_;
};

}  // namespace

void merge(Graph& graph, int64_t batch, const Graph& other, int64_t other_batch) {
  Pairs(graph, batch, other, other_batch, true).compare();
  // The sizes of inputs and outputs.
  const auto slopes = [&](const std::vector<Id>& ids, const std::vector<Id>& others) {
    for (std::size_t k = 0; k < ids.size(); ++k) {
      Value& v = graph[ids[k]];
      const Value& w = other[others[k]];
      if (v.kind != Value::Kind::kInput && v.kind != Value::Kind::kComputed) continue;
      v.slopes.assign(v.sizes.size(), 0);
      for (std::size_t d = 0; d < v.sizes.size() && batch != other_batch; ++d)
        v.slopes[d] = (w.sizes[d] - v.sizes[d]) / (other_batch - batch);
    }
  };
  slopes(graph.inputs, other.inputs);
  slopes(graph.outputs, other.outputs);
}

void check_merged(const Graph& graph, int64_t batch, const Graph& other, int64_t other_batch) {
  Pairs(const_cast<Graph&>(graph), batch, other, other_batch, false).compare();
}

}  // namespace tandem::onnx::exporter
