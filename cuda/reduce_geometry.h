// How a reduction maps to blocks and threads. The mapping depends only on shapes, strides and alignment, so
// every sum has a fixed order.
//
//   rows     `lanes` threads (part of a warp, a warp or a block) reduce one output, or one of its parts; one
//            thread per output if there are many small planes of columns
//   columns  a block reduces a tile of neighbouring outputs: `lanes` threads side by side with column_vector
//            outputs each; the rest of the block works on further rows of reduced elements
//
// The reduced elements of an output are split into `parts`; a second kernel combines the parts, in order.
#pragma once
#include "tandem/core/reduce_dims.h"
#include "tandem/cuda/long_walk.h"

namespace tandem::cuda_impl {

inline constexpr int kReduceThreads = 256;
/// Elements that a thread loads at once: 16 bytes.
constexpr int row_vector(int64_t item_size) { return static_cast<int>(16 / item_size); }
/// Outputs per thread in the column layout.
constexpr int column_vector(int64_t item_size) { return item_size >= 8 ? 2 : 4; }
/// Loads that a thread keeps in flight.
inline constexpr int kReduceUnroll = 4;

/// A kernel parameter.
struct ReduceGeometry {
  bool columns = false;
  bool vector = false;                ///< one load for neighbouring elements
  int lanes = 1;                      ///< a power of two
  int64_t elements = 0, outputs = 0;  ///< reduced elements per output; number of outputs
  int64_t parts = 1, part_size = 0;   ///< part_size: reduced elements per part
  LongWalk<1> reduced;
  LongWalk<2> kept;  ///< strides in input and output; columns: excludes the last dimension
  int64_t width = 1, width_in = 0, width_out = 0, tiles = 1;  ///< columns only: the last kept dimension

  /// Number of lane groups (rows) or blocks (columns).
  int64_t units = 0;
  int64_t blocks() const { return columns ? units * parts : ceil_div(units * parts, kReduceThreads / lanes); }
};

/// `address`: of the first input element. There must be at least one output.
ReduceGeometry make_reduce_geometry(const ReduceDims& dims, int64_t item_size, uintptr_t address);

/// Threads that combine the parts of one output: 1, 32 or 256.
int join_lanes(int64_t parts);

}  // namespace tandem::cuda_impl
