// Sums of gradients in the order of a binary tree over shard numbers, whichever device computes them.
//
// Node (level, index) covers the existing shards in index·2^level … (index+1)·2^level - 1; its sum is left +
// right over its two children. A device sums the complete nodes among its shards, the server the rest, so the
// additions are always the same.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::nn {
class FlatParameters;
}

namespace tandem::parallel {

/// One sum: a flat buffer and the parameters' views into it.
struct FlatSum {
  Tensor flat;
  std::vector<Tensor> views;
};
/// `flat` [like.size()] with the parameters' views.
FlatSum flat_sum(Tensor flat, const nn::FlatParameters& like);

/// Where a partial sum stands in the tree.
struct TreePlace {
  int level = 0;
  int64_t index = 0;
  bool operator==(const TreePlace&) const = default;
};
/// The complete nodes, from left to right, that shards first … first + count - 1 of `leaves` sum to.
std::vector<TreePlace> tree_nodes(int64_t leaves, int64_t first, int64_t count);

class TreeSum {
 public:
  struct Node : TreePlace {
    FlatSum sum;
  };

  /// Starts a new sum of `leaves` shards. Reuses buffers of the previous one. `first`: the buffer of the first node, if
  /// given; the sum of all shards that are added here is then in it if they make a single node.
  void begin(int64_t leaves, FlatSum first = {});
  /// Before the backward of shard `leaf`, of so many parameters; numbers must ascend by one. `make` returns a buffer of
  /// zeros with the parameters' views.
  void begin_leaf(int64_t leaf, std::size_t parameters, FunctionRef<FlatSum()> make);
  /// Before parameter i receives a gradient. Throws Error if it has been added to another shard's already.
  void check_arriving(std::size_t i) const;
  /// May be called when the gradient of parameter i has arrived: moves it into the leaf's buffer, or adds it to the
  /// left leaf's, while it is in cache. Then .grad() is a view of this buffer.
  void collect(std::size_t i, const Tensor& parameter);
  /// Adds the current gradients of `parameters` as the shard of begin_leaf(), and resets them.
  void end_leaf(const std::vector<Tensor>& parameters);
  /// Adds a sum from another device, already copied to this device; nodes must arrive from left to right.
  void add(int level, int64_t index, Tensor flat);
  /// Nodes from left to right; a single one once all shards have been added.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Number of buffers allocated so far.
  std::size_t buffers() const { return made_; }

 private:
  FlatSum buffer(FunctionRef<FlatSum()> make);
  void merge();

  int64_t leaves_ = 0, leaf_ = 0;
  FlatSum first_;
  // Of the current leaf, which is the last node; otherwise it is added to the last node.
  bool own_buffer_ = false;
  std::vector<int> collected_;  // by parameter, gradients that have arrived in this leaf
  bool several_ = false;        // whether a parameter ever received several in one leaf
  std::vector<Node> nodes_;
  std::vector<FlatSum> spare_;
  std::size_t made_ = 0;
};

}  // namespace tandem::parallel
