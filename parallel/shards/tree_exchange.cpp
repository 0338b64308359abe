#include "tandem/parallel/shards/tree_exchange.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/shards.h"

namespace tandem::distributed {

using parallel::TreePlace;
using parallel::TreeSum;

// A part of the buffer in flight: elements begin … end - 1, cut into one segment per rank.
struct TreeExchange::Part {
  int64_t begin = 0, end = 0;
  std::vector<int64_t> segments;  // elements per rank
  Tensor packed, received, gathered;
  WorkPtr work;
};

namespace {

// Segments start at multiples of 16 elements.
std::vector<int64_t> segments_of(int64_t elements, int size) {
  const int64_t unit = 16, blocks = (elements + unit - 1) / unit;
  const auto begin = [&](int64_t r) { return std::min(unit * balanced_begin(blocks, size, r), elements); };
  std::vector<int64_t> out;
  for (int64_t r = 0; r < size; ++r) out.push_back(begin(r + 1) - begin(r));
  return out;
}

}  // namespace

// The shards, and the nodes of each rank.
struct TreeExchange::Layout {
  Layout(int64_t leaves, int size) : leaves(leaves) {
    for (int64_t r = 0; r < size; ++r) {
      const int64_t first = balanced_begin(leaves, size, r);
      nodes.push_back(parallel::tree_nodes(leaves, first, balanced_begin(leaves, size, r + 1) - first));
    }
  }
  int64_t leaves;
  std::vector<std::vector<TreePlace>> nodes;
};

TreeExchange::TreeExchange(std::shared_ptr<ProcessGroup> group, int64_t bytes)
    : group_(std::move(group)), bytes_(bytes) {}

// Two parts are in flight, so one is summed while the next is sent. All ranks submit in the same order.
void TreeExchange::run(const std::vector<TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum, bool accumulate,
                       double divisor) {
  const NoGradGuard no_grad;
  const int64_t size = sum.numel();
  const int64_t step = std::max<int64_t>(bytes_ / static_cast<int64_t>(sum.element_size()), 16 * group_->size());
  if (size == 0) return;
  const Layout layout(leaves, group_->size());
  const auto start_at = [&](int64_t at) {
    return start(nodes, layout, at, segments_of(std::min(step, size - at), group_->size()));
  };
  Part current = start_at(0), last;
  for (int64_t at = 0; at < size; at += step) {
    // Waits for the last part while `current` is queued behind it, so no more than two parts need memory.
    if (last.work) finish(last, sum, accumulate);
    Part next;
    if (at + step < size) next = start_at(at + step);
    add_and_gather(current, layout, sum, accumulate, divisor);
    last = std::exchange(current, std::move(next));
  }
  if (last.work) finish(last, sum, accumulate);
}

Tensor TreeExchange::scatter(const std::vector<TreeSum::Node>& nodes, int64_t leaves, double divisor) {
  const NoGradGuard no_grad;
  const int64_t size = nodes[0].sum.flat.numel(), ranks = group_->size();
  const Layout layout(leaves, group_->size());
  Part part = start(nodes, layout, 0, std::vector<int64_t>(static_cast<std::size_t>(ranks), size / ranks));
  return add(part, layout, divisor);
}

// Sends segment q of every node to rank q.
TreeExchange::Part TreeExchange::start(const std::vector<TreeSum::Node>& nodes, const Layout& layout, int64_t begin,
                                       std::vector<int64_t> segments) {
  const int64_t end = std::accumulate(segments.begin(), segments.end(), begin);
  Part part{begin, end, std::move(segments), {}, {}, {}, {}};
  const auto ranks = static_cast<std::size_t>(group_->size());
  std::vector<std::vector<int64_t>> table(ranks);  // elements from rank r to rank q
  int64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto count = static_cast<int64_t>(layout.nodes[r].size());
    for (const int64_t segment : part.segments) table[r].push_back(segment * count);
    total += table[r][static_cast<std::size_t>(group_->rank())];
  }
  if (nodes.size() == 1) {
    part.packed = nodes[0].sum.flat.narrow(0, begin, end - begin);
  } else {
    Tensors pieces;
    for (int64_t at = begin; const int64_t segment : part.segments) {
      for (const TreeSum::Node& node : nodes) pieces.push_back(node.sum.flat.narrow(0, at, segment));
      at += segment;
    }
    part.packed = cat(pieces);
  }
  part.received = empty({total}, part.packed.options());
  part.work = group_->all_to_all_table(part.received, part.packed, table);
  return part;
}

// The sum of the nodes of this rank's segment, in tree order.
Tensor TreeExchange::add(Part& part, const Layout& layout, double divisor) {
  part.work->wait();
  part.packed.reset();
  const int64_t mine = part.segments[static_cast<std::size_t>(group_->rank())];
  TreeSum tree;
  tree.begin(layout.leaves);
  int64_t at = 0;
  for (const std::vector<TreePlace>& places : layout.nodes)
    for (const TreePlace& place : places) {
      tree.add(place.level, place.index, part.received.narrow(0, at, mine));
      at += mine;
    }
  Tensor result = tree.nodes()[0].sum.flat;
  if (divisor != 1) result.div_(divisor);
  return result;
}

// Starts to send the sum of this rank's segment to all.
void TreeExchange::add_and_gather(Part& part, const Layout& layout, const Tensor& sum, bool accumulate,
                                  double divisor) {
  const Tensor result = add(part, layout, divisor);
  if (accumulate) part.gathered = empty({part.end - part.begin}, sum.options());
  const Tensor target = accumulate ? part.gathered : sum.narrow(0, part.begin, part.end - part.begin);
  part.work = group_->all_gather(target, result, part.segments);
}

void TreeExchange::finish(Part& part, const Tensor& sum, bool accumulate) {
  part.work->wait();
  if (accumulate) sum.narrow(0, part.begin, part.end - part.begin).add_(part.gathered);
  part = {};
}

}  // namespace tandem::distributed
