// How a reduction is laid over blocks and threads, by shapes, strides and alignment alone: so every sum has
// one order.
//
//   rows     `lanes` threads (a part of a warp, a warp or a block) fold one output, or one of its parts; one
//            thread each for the columns of many small planes
//   columns  a block folds a tile of neighbouring outputs: `lanes` threads side by side, kOuterColumns outputs
//            each, and the rest of the block one row of reduced elements below the other
//
// The reduced elements of an output are cut in `parts`; a second kernel folds the parts, in order.
#pragma once
#include "tandem/core/reduce_dims.h"
#include "tandem/cuda/long_walk.h"

namespace tandem::cuda_impl {

inline constexpr int kReduceThreads = 256;
/// Elements that a thread loads at once: 16 bytes.
constexpr int row_vector(int64_t item_size) { return static_cast<int>(16 / item_size); }
/// Outputs of a thread in the column layout.
constexpr int column_vector(int64_t item_size) { return item_size >= 8 ? 2 : 4; }
/// Loads of a thread that are on their way together.
inline constexpr int kReduceUnroll = 4;

/// A kernel parameter.
struct ReduceGeometry {
  bool columns = false;
  bool vector = false;                ///< one load for neighbouring elements
  int lanes = 1;                      ///< a power of two
  int64_t elements = 0, outputs = 0;  ///< reduced elements of an output; outputs
  int64_t parts = 1, part_size = 0;   ///< reduced elements in a part
  LongWalk<1> reduced;
  LongWalk<2> kept;  ///< strides in input and output; columns: without the last dimension
  int64_t width = 1, width_in = 0, width_out = 0, tiles = 1;  ///< columns: the last kept dimension

  /// Groups of lanes (rows) or blocks (columns).
  int64_t units = 0;
  int64_t blocks() const { return columns ? units * parts : ceil_div(units * parts, kReduceThreads / lanes); }
};

/// `address`: of the first input element. There are outputs.
ReduceGeometry make_reduce_geometry(const ReduceDims& dims, int64_t item_size, uintptr_t address);

/// Threads that fold the parts of one output: 1, 32 or 256.
int join_lanes(int64_t parts);

}  // namespace tandem::cuda_impl
