// Sums in tree order: a stack of nodes that works like a binary counter.
#include "tandem/parallel/shards/tree_sum.h"

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/memory_format.h"
#include "tandem/nn/flat.h"

namespace tandem::parallel {
namespace {

// Raises a node that has no sibling to its parent's place. Returns whether the node then is a right child, whose
// sibling may be complete.
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

FlatSum flat_sum(Tensor flat, const nn::FlatParameters& like) {
  const NoGradGuard no_grad;
  FlatSum out{std::move(flat), {}};
  for (std::size_t i = 0; i < like.parameters().size(); ++i) {
    const Tensor& p = like.parameters()[i];
    out.views.push_back(part_like(out.flat, p, like.offset(i)));
  }
  return out;
}

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

void TreeSum::begin(int64_t leaves, FlatSum first) {
  leaves_ = leaves;
  for (Node& node : nodes_)
    if (!node.sum.views.empty() && !node.sum.flat.is_same(first_.flat)) spare_.push_back(std::move(node.sum));
  nodes_.clear();
  first_ = std::move(first);
}

FlatSum TreeSum::buffer(FunctionRef<FlatSum()> make) {
  if (nodes_.empty() && first_.flat.defined()) return first_;
  if (!spare_.empty()) {
    FlatSum out = std::move(spare_.back());
    spare_.pop_back();
    return out;
  }
  ++made_;
  return make();
}

void TreeSum::begin_leaf(int64_t leaf, std::size_t parameters, FunctionRef<FlatSum()> make) {
  const NoGradGuard no_grad;
  leaf_ = leaf;
  collected_.assign(parameters, 0);
  // A right leaf needs no buffer.
  own_buffer_ = nodes_.empty() || leaf % 2 == 0 || nodes_.back().level != 0 || nodes_.back().index != leaf - 1;
  if (own_buffer_) nodes_.push_back({{0, leaf}, buffer(make)});
}

void TreeSum::check_arriving(std::size_t i) const {
  check(own_buffer_ || several_ || collected_[i] == 0, "ParameterServer: parameter ", i,
        " would receive another gradient in the backward pass of shard ", leaf_,
        ", but received one in those of the shards before; use it equally often in all shards");
}

// The first shard of each device and step has its own buffer, so it shows which parameters receive several gradients,
// as from nested passes. Their sum is one operand of the tree, so it must be complete before it is added to the left
// leaf.
void TreeSum::collect(std::size_t i, const Tensor& parameter) {
  if (collected_[i]++ > 0) several_ = true;
  if (!own_buffer_ && several_) return;
  const NoGradGuard no_grad;
  Tensor& view = nodes_.back().sum.views[i];
  Tensor& grad = parameter.mutable_grad();
  if (!grad.defined() || grad.data_ptr() == view.data_ptr()) return;
  if (own_buffer_)
    view.copy_(grad);
  else
    view.add_(grad);
  grad = view.detach();
}

void TreeSum::end_leaf(const std::vector<Tensor>& parameters) {
  const NoGradGuard no_grad;
  Node& node = nodes_.back();
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Tensor& grad = parameters[i].grad();
    Tensor& view = node.sum.views[i];
    if (!grad.defined()) {
      if (own_buffer_) view.zero_();
    } else if (grad.data_ptr() != view.data_ptr()) {
      own_buffer_ ? view.copy_(grad) : view.add_(grad);
    }
    parameters[i].mutable_grad().reset();
  }
  if (!own_buffer_) {
    node.level = 1;
    node.index = leaf_ / 2;
  }
  merge();
}

void TreeSum::add(int level, int64_t index, Tensor flat) {
  nodes_.push_back({{level, index}, {std::move(flat), {}}});
  merge();
}

void TreeSum::merge() {
  NoGradGuard no_grad;
  while (raise(nodes_.back(), leaves_) && nodes_.size() > 1 && are_siblings(nodes_[nodes_.size() - 2], nodes_.back())) {
    Node& top = nodes_.back();
    Node& left = nodes_[nodes_.size() - 2];
    left.sum.flat.add_(top.sum.flat);
    ++left.level;
    left.index /= 2;
    if (!top.sum.views.empty()) spare_.push_back(std::move(top.sum));
    nodes_.pop_back();
  }
}

}  // namespace tandem::parallel
