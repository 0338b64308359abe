// Sums in tree order: a stack of nodes that works like a binary counter.
#include "tandem/parallel/tree_sum.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/splitmix64.h"

namespace tandem::parallel {

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
    Node node{0, leaf, buffer(parameters, like, offsets)};
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
  nodes_.push_back({level, index, {std::move(flat), {}}});
  merge();
}

void TreeSum::merge() {
  NoGradGuard no_grad;
  for (;;) {
    Node& top = nodes_.back();
    const bool whole = top.index == 0 && (int64_t{1} << top.level) >= leaves_;
    if (!whole && top.index % 2 == 0 && (top.index + 1) << top.level >= leaves_) {
      ++top.level;  // it has no sibling
      top.index /= 2;
      continue;
    }
    if (nodes_.size() < 2 || top.index % 2 == 0) return;
    Node& left = nodes_[nodes_.size() - 2];
    if (left.level != top.level || left.index != top.index - 1) return;
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
