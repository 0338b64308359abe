// How a reduction walks its tensor: which dimensions are reduced, which are kept, and into how many parts the
// work is split.
//
// A unit is one output (inner layout) or a tile of adjacent outputs (outer layout: vectors run along the last
// kept dimension). The reduced elements of an output are folded in blocks, whose results are combined pairwise. They are
// also split into `parts` for several threads. A part has 1, 2, 4, 8 … blocks, so what its blocks are combined to is
// combined in any case, and the bits do not depend on the parts. In the outer layout a block depends on the size of the last
// kept dimension, into which a batch is merged that is not the outermost dimension in memory.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::cpu {

struct ReducePlan {
  Dims sizes, strides;                 // reduced, outermost first, merged; at least one entry
  Dims kept_sizes, kept_in, kept_out;  // kept, merged; in the outer layout without the last one
  int64_t reduced = 1, outputs = 1;    // elements
  bool outer = false;
  int64_t width = 1;  // outer: size and strides of the last kept dimension
  int64_t width_in = 0, width_out = 0;
  int64_t tile = 1, tiles = 1;                  // outer: outputs in a tile, tiles along the last kept dimension
  int64_t block = 1;                            // reduced elements of one output in a block
  int64_t units = 1, parts = 1, part_size = 1;  // part_size: reduced elements of one output in a part
};

/// `out` has the shape of `in` with 1 in the dimensions of `mask`, and any strides. `tile`: maximum number of
/// outputs per tile. `inner_block`: elements of a block in the inner layout.
ReducePlan make_reduce_plan(const Tensor& out, const Tensor& in, uint32_t mask, int64_t tile, int64_t inner_block);

/// Position `number` of a row-major walk over the kept dimensions, as offsets; next() advances to the
/// following position.
class KeptWalk {
 public:
  KeptWalk(const ReducePlan& plan, int64_t number) : plan_(plan), at_(plan.kept_sizes.size(), 0) {
    for (std::size_t d = plan.kept_sizes.size(); d-- > 0;) {
      at_[d] = number % plan.kept_sizes[d];
      number /= plan.kept_sizes[d];
      in += at_[d] * plan.kept_in[d];
      out += at_[d] * plan.kept_out[d];
    }
  }
  void next() {
    for (std::size_t d = plan_.kept_sizes.size(); d-- > 0;) {
      in += plan_.kept_in[d];
      out += plan_.kept_out[d];
      if (++at_[d] < plan_.kept_sizes[d]) return;
      in -= at_[d] * plan_.kept_in[d];
      out -= at_[d] * plan_.kept_out[d];
      at_[d] = 0;
    }
  }
  int64_t in = 0, out = 0;

 private:
  const ReducePlan& plan_;
  Dims at_;
};

/// Calls run(offset, count) for each run along the last reduced dimension within the reduced elements [begin,
/// end).
template <class Run>
void for_reduced_runs(const ReducePlan& plan, int64_t begin, int64_t end, Run&& run) {
  if (begin >= end) return;
  const std::size_t last = plan.sizes.size() - 1;
  if (last == 0) return run(begin * plan.strides[0], end - begin);
  Dims at(last + 1, 0);
  int64_t offset = 0, rest = begin;
  for (std::size_t d = last + 1; d-- > 0;) {
    at[d] = rest % plan.sizes[d];
    rest /= plan.sizes[d];
    offset += at[d] * plan.strides[d];
  }
  while (begin < end) {
    const int64_t count = std::min(plan.sizes[last] - at[last], end - begin);
    run(offset, count);
    begin += count;
    offset -= at[last] * plan.strides[last];
    at[last] = 0;
    for (std::size_t d = last; d-- > 0;) {
      offset += plan.strides[d];
      if (++at[d] < plan.sizes[d]) break;
      offset -= at[d] * plan.strides[d];
      at[d] = 0;
    }
  }
}

}  // namespace tandem::cpu
