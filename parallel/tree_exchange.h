// Sums gradients over processes in the binary tree of the shards, so that the bits do not depend on their number.
//
// Every process has the sums of complete tree nodes (see parallel/tree_sum.h). Each process owns one segment of the flat
// buffer: it receives that segment of all nodes, adds them in tree order and sends the result to the others. With P = 2^j
// processes and V = 2^i >= P shards each process has one node, and sends 2 (P - 1) / P times the bytes of the buffer, as a
// ring does. Otherwise some have several nodes: with V = 8 and P = 3 it is 1.33 times as much.
#pragma once
#include <vector>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/tree_sum.h"

namespace tandem::distributed {

/// Numbers of consecutive items that each rank has: `items` in runs that differ in length by at most one, for all `size`
/// ranks; the last ones may be 0.
std::vector<int64_t> runs_of_ranks(int64_t items, int size);

class TreeExchange {
 public:
  /// Works in parts of about `bytes` of the buffer; holds twice that at a time.
  TreeExchange(std::shared_ptr<ProcessGroup> group, int64_t bytes);
  /// Writes the sum of all ranks' nodes to `sum` [n], or adds it with `accumulate`. `nodes`: those of this rank's shards, flat
  /// sums [n]; rank r has run r of runs_of_ranks(leaves, size). Changes the nodes' sums.
  void run(const std::vector<parallel::TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum,
           bool accumulate);

 private:
  struct Part;
  Part start(const std::vector<parallel::TreeSum::Node>& nodes, int64_t leaves, int64_t begin, int64_t end);
  void add_and_gather(Part& part, int64_t leaves, const Tensor& sum, bool accumulate);
  void finish(Part& part, const Tensor& sum, bool accumulate);

  std::shared_ptr<ProcessGroup> group_;
  int64_t bytes_;
};

}  // namespace tandem::distributed
