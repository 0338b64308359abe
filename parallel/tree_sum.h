// Sums of gradients whose order is a binary tree over the numbers of the shards, whoever computes them.
//
// Node (level, index) stands for the shards index·2^level … (index+1)·2^level - 1 that exist; its sum is that
// of its two children, left + right. A device sums the whole nodes among its shards, the server the rest: the
// same additions in any case.
#pragma once
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem::parallel {

/// One sum: a flat buffer and the places of the parameters in it.
struct FlatSum {
  Tensor flat;
  std::vector<Tensor> views;
};

class TreeSum {
 public:
  struct Node {
    int level = 0;
    int64_t index = 0;
    FlatSum sum;
  };

  /// Starts anew, for `leaves` shards. Buffers of before are used again.
  void begin(int64_t leaves);
  /// Adds the gradients that `parameters` have now as shard number `leaf`; numbers must ascend by one.
  /// `like`: flat buffer [size] with the gaps zero; offsets[i]: where parameter i begins in it.
  void add_gradients(int64_t leaf, const std::vector<Tensor>& parameters, const Tensor& like,
                     const std::vector<int64_t>& offsets);
  /// Adds a sum of another device, on this device by now; nodes must come from left to right.
  void add(int level, int64_t index, Tensor flat);
  /// From left to right; a single one when all shards are in.
  const std::vector<Node>& nodes() const { return nodes_; }
  /// Buffers made so far.
  std::size_t buffers() const { return made_; }

 private:
  FlatSum buffer(const std::vector<Tensor>& parameters, const Tensor& like,
                 const std::vector<int64_t>& offsets);
  void merge();

  int64_t leaves_ = 0;
  std::vector<Node> nodes_;
  std::vector<FlatSum> spare_;
  std::size_t made_ = 0;
};

/// The seed of the random stream of one shard (or device) of one step.
uint64_t stream_seed(uint64_t seed, uint64_t step, uint64_t shard);

}  // namespace tandem::parallel
