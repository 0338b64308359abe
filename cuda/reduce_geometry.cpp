// Layout, parts and vector loads of reductions.
#include "tandem/cuda/reduce_geometry.h"

#include <algorithm>
#include <bit>

namespace tandem::cuda_impl {
namespace {

// Fixed, not taken from the GPU: the order of a sum must not depend on the GPU. Large enough that the last
// wave of blocks is a small part of the whole.
constexpr int64_t kMaxBlocks = 4096;
// From this many outputs on, one warp per output keeps a GPU busy.
constexpr int64_t kManyOutputs = 8192;
// Many planes smaller than this get one thread per output: a block per tile would have too little to do.
constexpr int64_t kSmallPlane = 2048;

int64_t power_below(int64_t n) { return static_cast<int64_t>(std::bit_floor(static_cast<uint64_t>(n))); }
int64_t power_above(int64_t n) { return static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(n))); }

// All strides except the innermost are multiples of a vector, and so is the innermost size if a vector could
// reach beyond it.
bool strides_allow(const ReduceDims& d, int64_t vector, bool columns) {
  const int kept = d.kept_count - (columns ? 1 : 0), reduced = d.reduced_count - (columns ? 0 : 1);
  for (int i = 0; i < kept; ++i)
    if (d.kept[i].in % vector != 0) return false;
  for (int i = 0; i < reduced; ++i)
    if (d.reduced[i].in % vector != 0) return false;
  if (columns) return d.kept[kept].in == 1 && d.kept[kept].size % vector == 0;
  return reduced >= 0 && d.reduced[reduced].in == 1 && (reduced == 0 || d.reduced[reduced].size % vector == 0);
}

// Splits into about `wanted` parts, each a multiple of `least` elements.
void cut(ReduceGeometry& g, int64_t wanted, int64_t least) {
  const int64_t parts = std::clamp<int64_t>(g.elements / least, 1, std::max<int64_t>(wanted, 1));
  g.part_size = std::max(ceil_div(ceil_div(g.elements, parts), least), int64_t{1}) * least;
  g.parts = std::max(ceil_div(g.elements, g.part_size), int64_t{1});
}

void lay_rows(ReduceGeometry& g, int64_t vector) {
  const int64_t n = g.elements, warp = 32 * vector;
  if (n > 32 * warp || (n > 8 * warp && g.outputs < kManyOutputs)) {
    g.lanes = kReduceThreads;
    cut(g, kMaxBlocks / g.outputs, kReduceThreads * vector * kReduceUnroll);
  } else {
    const int64_t least = std::min<int64_t>(4, power_above(ceil_div(n, vector)));
    g.lanes = static_cast<int>(
        std::clamp<int64_t>(power_below(std::max<int64_t>(1, n / (vector * kReduceUnroll))), least, 32));
    g.part_size = n;
  }
  g.units = g.outputs;
}

void lay_columns(ReduceGeometry& g, int64_t vector) {
  g.lanes = static_cast<int>(std::min<int64_t>(32, power_above(ceil_div(g.width, vector))));
  g.tiles = ceil_div(g.width, g.lanes * vector);
  g.units = g.outputs / g.width * g.tiles;
  cut(g, kMaxBlocks / g.units, int64_t{kReduceThreads} / g.lanes * kReduceUnroll * 4);
}

}  // namespace

ReduceGeometry make_reduce_geometry(const ReduceDims& dims, int64_t item_size, uintptr_t address) {
  ReduceGeometry g;
  g.elements = dims.elements;
  g.outputs = dims.outputs;
  const bool thread_each =
      dims.outer && g.outputs >= 2 * kManyOutputs && g.elements * dims.kept[dims.kept_count - 1].size < kSmallPlane;
  g.columns = dims.outer && !thread_each;
  for (int d = dims.reduced_count - 1; d >= 0; --d) g.reduced.push(dims.reduced[d].size, {dims.reduced[d].in});
  int kept = dims.kept_count;
  if (g.columns) {
    const ReduceDims::Dim last = dims.kept[--kept];
    g.width = last.size;
    g.width_in = last.in;
    g.width_out = last.out;
  }
  for (int d = kept - 1; d >= 0; --d) g.kept.push(dims.kept[d].size, {dims.kept[d].in, dims.kept[d].out});
  g.reduced.wide = g.elements >= int64_t{1} << 31;
  g.kept.wide = g.outputs >= int64_t{1} << 31;
  const int64_t vector = g.columns ? column_vector(item_size) : row_vector(item_size);
  g.vector = address % static_cast<uintptr_t>(vector * item_size) == 0 && strides_allow(dims, vector, g.columns);
  if (g.columns) {
    lay_columns(g, vector);
  } else if (thread_each) {
    g.part_size = g.elements;
    g.units = g.outputs;
  } else {
    lay_rows(g, vector);
  }
  return g;
}

int join_lanes(int64_t parts) { return parts >= 256 ? kReduceThreads : parts >= 32 ? 32 : 1; }

}  // namespace tandem::cuda_impl
