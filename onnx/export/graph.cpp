// Graphs: which of their nodes are needed.
#include "tandem/onnx/export/graph.h"

#include <algorithm>
#include <set>
#include <tuple>

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
    static const std::set<std::string> kHasOptionalOutputs{"MaxPool", "LSTM", "GRU", "RNN"};
    if (kHasOptionalOutputs.contains(node.op))
      while (node.outputs.size() > 1 && !is_needed(node.outputs.back())) node.outputs.pop_back();
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

}  // namespace tandem::onnx::exporter
