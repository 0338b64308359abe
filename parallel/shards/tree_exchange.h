// Sums gradients over processes in the binary tree of the shards, so that the bits do not depend on their number.
//
// Every process has the sums of complete tree nodes (tree_sum.h) and owns one segment of the flat buffer: it
// receives this segment of all nodes, adds them in tree order and sends the result to the others. With P = 2^j
// processes and V = 2^i >= P shards, each process has one node and sends 2 (P - 1) / P times the bytes of the buffer,
// as in a ring. Otherwise some have several nodes: with V = 8 and P = 3 they send 1.33 times as much.
#pragma once
#include <vector>

#include "tandem/parallel/distributed/process_group.h"
#include "tandem/parallel/shards/tree_sum.h"

namespace tandem::distributed {

class TreeExchange {
 public:
  /// Sends the buffer in parts of about `bytes`, two at a time.
  TreeExchange(std::shared_ptr<ProcessGroup> group, int64_t bytes);
  /// Writes the sum of all ranks' nodes, over `divisor`, to `sum` [n], or adds it if `accumulate`. `nodes`: flat sums
  /// [n] of this rank's shards; rank r has run r of as many balanced runs as ranks (core/shards.h).
  /// Changes the nodes' sums.
  void run(const std::vector<parallel::TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum, bool accumulate,
           double divisor = 1);
  /// Returns this rank's segment [n / P] of that sum, as one part. P must divide n. Changes the nodes' sums.
  Tensor scatter(const std::vector<parallel::TreeSum::Node>& nodes, int64_t leaves, double divisor = 1);

 private:
  struct Part;
  struct Layout;
  Part start(const std::vector<parallel::TreeSum::Node>& nodes, const Layout& layout, int64_t begin,
             std::vector<int64_t> segments);
  Tensor add(Part& part, const Layout& layout, double divisor);
  void add_and_gather(Part& part, const Layout& layout, const Tensor& sum, bool accumulate, double divisor);
  void finish(Part& part, const Tensor& sum, bool accumulate);

  std::shared_ptr<ProcessGroup> group_;
  int64_t bytes_;
};

}  // namespace tandem::distributed
