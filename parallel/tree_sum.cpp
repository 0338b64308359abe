// Sums in tree order: a stack of nodes that works like a binary counter.
#include "tandem/parallel/tree_sum.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/splitmix64.h"

namespace tandem::parallel {
namespace {

// Raises a node that has no sibling to its parent's place. Returns whether the node then is a right child, whose sibling
// may be complete.
bool raise(TreePlace& node, int64_t leaves) {
  while (node.index % 2 == 0) {
    const bool whole = node.index == 0 && (int64_t{1} << node.level) >= leaves;
    if (whole || (node.index + 1) << node.level < leaves) return false;
    ++node.level;
    node.index /= 2;
  }
  return true;
}

bool are_siblings(const TreePlace& left, const TreePlace& right) {
  return left.level == right.level && left.index == right.index - 1;
}

}  // namespace

std::vector<TreePlace> tree_nodes(int64_t leaves, int64_t first, int64_t count) {
  std::vector<TreePlace> out;
  for (int64_t leaf = first; leaf < first + count; ++leaf) {
    out.push_back({0, leaf});
    while (raise(out.back(), leaves) && out.size() > 1 && are_siblings(out[out.size() - 2], out.back())) {
      out.pop_back();
      ++out.back().level;
      out.back().index /= 2;
    }
  }
  return out;
}

void TreeSum::begin(int64_t leaves) {
  leaves_ = leaves;
  for (Node& node : nodes_)
    if (!node.sum.views.empty()) spare_.push_back(std::move(node.sum));
  nodes_.clear();
}

FlatSum TreeSum::buffer(const std::vector<Tensor>& parameters, const Tensor& like,
                        const std::vector<int64_t>& offsets) {
  if (!spare_.empty()) {
    FlatSum out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }
  ++made_;
  FlatSum out{zeros_like(like), {}};
  for (std::size_t i = 0; i < parameters.size(); ++i)
    out.views.push_back(out.flat.narrow(0, offsets[i], parameters[i].numel()).view(parameters[i].sizes()));
  return out;
}

void TreeSum::add_gradients(int64_t leaf, const std::vector<Tensor>& parameters, const Tensor& like,
                            const std::vector<int64_t>& offsets) {
  NoGradGuard no_grad;
  if (leaf % 2 == 1 && !nodes_.empty() && nodes_.back().level == 0 && nodes_.back().index == leaf - 1) {
    Node& left = nodes_.back();  // add in place: the right leaf needs no buffer
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (const Tensor& grad = parameters[i].grad(); grad.defined()) left.sum.views[i].add_(grad);
    left.level = 1;
    left.index = leaf / 2;
  } else {
    Node node{{0, leaf}, buffer(parameters, like, offsets)};
    for (std::size_t i = 0; i < parameters.size(); ++i)
      if (const Tensor& grad = parameters[i].grad(); grad.defined())
        node.sum.views[i].copy_(grad);
      else
        node.sum.views[i].zero_();
    nodes_.push_back(std::move(node));
  }
  merge();
}

void TreeSum::add(int level, int64_t index, Tensor flat) {
  nodes_.push_back({{level, index}, {std::move(flat), {}}});
  merge();
}

void TreeSum::merge() {
  NoGradGuard no_grad;
  while (raise(nodes_.back(), leaves_) && nodes_.size() > 1 &&
         are_siblings(nodes_[nodes_.size() - 2], nodes_.back())) {
    Node& top = nodes_.back();
    Node& left = nodes_[nodes_.size() - 2];
    left.sum.flat.add_(top.sum.flat);
    ++left.level;
    left.index /= 2;
    if (!top.sum.views.empty()) spare_.push_back(std::move(top.sum));
    nodes_.pop_back();
  }
}

uint64_t stream_seed(uint64_t seed, uint64_t step, uint64_t shard) {
  return mixed(mixed(mixed(seed) ^ step) ^ shard);
}

}  // namespace tandem::parallel
