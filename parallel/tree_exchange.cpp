#include "tandem/parallel/tree_exchange.h"

#include <algorithm>
#include <utility>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"

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

std::vector<int64_t> runs_of_ranks(int64_t items, int size) {
  std::vector<int64_t> out(static_cast<std::size_t>(size), items / size);
  for (int64_t i = 0; i < items % size; ++i) ++out[static_cast<std::size_t>(i)];
  return out;
}

namespace {

// Segments start at multiples of 16 elements.
std::vector<int64_t> segments_of(int64_t elements, int size) {
  const int64_t unit = 16, blocks = (elements + unit - 1) / unit;
  std::vector<int64_t> out = runs_of_ranks(blocks, size);
  for (int64_t& segment : out) segment *= unit;
  int64_t excess = blocks * unit - elements;
  for (auto it = out.rbegin(); it != out.rend() && excess > 0; ++it) {
    const int64_t less = std::min(*it, excess);
    *it -= less;
    excess -= less;
  }
  return out;
}

std::vector<TreePlace> nodes_of_rank(int64_t leaves, int size, int rank) {
  const std::vector<int64_t> runs = runs_of_ranks(leaves, size);
  int64_t first = 0;
  for (int i = 0; i < rank; ++i) first += runs[static_cast<std::size_t>(i)];
  return parallel::tree_nodes(leaves, first, runs[static_cast<std::size_t>(rank)]);
}

}  // namespace

TreeExchange::TreeExchange(std::shared_ptr<ProcessGroup> group, int64_t bytes)
    : group_(std::move(group)), bytes_(bytes) {}

// Two parts are in flight, so one is summed while the next is sent. All ranks submit in the same order.
void TreeExchange::run(const std::vector<TreeSum::Node>& nodes, int64_t leaves, const Tensor& sum,
                       bool accumulate) {
  const NoGradGuard no_grad;
  const int64_t size = sum.numel();
  const int64_t step =
      std::max<int64_t>(bytes_ / static_cast<int64_t>(sum.element_size()), 16 * group_->size());
  if (size == 0) return;
  Part current = start(nodes, leaves, 0, std::min(step, size)), last;
  for (int64_t at = 0; at < size; at += step) {
    Part next;
    if (at + step < size) next = start(nodes, leaves, at + step, std::min(at + 2 * step, size));
    add_and_gather(current, leaves, sum, accumulate);
    if (last.work) finish(last, sum, accumulate);
    last = std::exchange(current, std::move(next));
  }
  if (last.work) finish(last, sum, accumulate);
}

// Sends segment q of every node to rank q.
TreeExchange::Part TreeExchange::start(const std::vector<TreeSum::Node>& nodes, int64_t leaves, int64_t begin,
                                       int64_t end) {
  Part part{begin, end, segments_of(end - begin, group_->size()), {}, {}, {}, {}};
  const auto ranks = static_cast<std::size_t>(group_->size());
  std::vector<std::vector<int64_t>> table(ranks);  // elements from rank r to rank q
  int64_t total = 0;
  for (std::size_t r = 0; r < ranks; ++r) {
    const auto count =
        static_cast<int64_t>(nodes_of_rank(leaves, group_->size(), static_cast<int>(r)).size());
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

// Adds the nodes of this rank's segment in tree order and starts to send the result to all.
void TreeExchange::add_and_gather(Part& part, int64_t leaves, const Tensor& sum, bool accumulate) {
  part.work->wait();
  part.packed.reset();
  const int64_t mine = part.segments[static_cast<std::size_t>(group_->rank())];
  TreeSum tree;
  tree.begin(leaves);
  int64_t at = 0;
  for (int r = 0; r < group_->size(); ++r)
    for (const TreePlace& place : nodes_of_rank(leaves, group_->size(), r)) {
      tree.add(place.level, place.index, part.received.narrow(0, at, mine));
      at += mine;
    }
  if (accumulate) part.gathered = empty({part.end - part.begin}, sum.options());
  const Tensor target = accumulate ? part.gathered : sum.narrow(0, part.begin, part.end - part.begin);
  part.work = group_->all_gather(target, tree.nodes()[0].sum.flat, part.segments);
}

void TreeExchange::finish(Part& part, const Tensor& sum, bool accumulate) {
  part.work->wait();
  if (accumulate) sum.narrow(0, part.begin, part.end - part.begin).add_(part.gathered);
  part = {};
}

}  // namespace tandem::distributed
