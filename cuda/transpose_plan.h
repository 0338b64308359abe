// The geometry of transposing copies, in which the output's rows run across the input's. Tiles of one plane
// pass through shared memory; the other dimensions enumerate the planes.
#pragma once
#include "tandem/cuda/strided.h"

namespace tandem::cuda_impl {

inline constexpr int kTransposeThreads = 256;
/// Side of a tile for elements of `item` bytes; its rows have at least 64 bytes.
constexpr int transpose_tile(std::size_t item) { return item >= 4 ? 32 : 64; }

/// The dimension in which the input has unit stride, if it is not the output's; 0 if there is none or the
/// copy is too small for tiles.
inline int across_dim(const LoopPlan<2>& plan) {
  if (plan.strides[0][0] != 1 || plan.strides[0][1] <= 1 || plan.sizes[0] < 8 || plan.numel < 4096) return 0;
  for (int d = 1; d < plan.ndim; ++d)
    if (plan.strides[d][1] == 1) return plan.sizes[d] < 8 ? 0 : d;
  return 0;
}
inline bool transpose_applies(const LoopPlan<2>& plan) { return across_dim(plan) != 0; }

struct TransposeTile {
  uint32_t row, column;  ///< of the first element
  uint32_t out, in;      ///< offsets of the plane
};

/// A kernel parameter. Rows run along the output's unit stride, columns along the input's.
struct TransposePlan {
  uint32_t rows, columns, row_in, column_out;  // sizes and strides
  FastDivide row_tiles, column_tiles;
  Walk<2> planes;
  int64_t tiles;

  /// `side` is the side of a tile.
  TransposePlan(const Piece<2>& piece, int side) {
    const Walk<2>& walk = piece.walk;
    int across = 1;
    while (across + 1 < walk.ndim && walk.strides[across][1] != 1) ++across;
    rows = walk.sizes[0].divisor;
    row_in = walk.strides[0][1];
    columns = walk.sizes[across].divisor;
    column_out = walk.strides[across][0];
    const auto n = static_cast<uint32_t>(side);
    row_tiles = FastDivide((rows + n - 1) / n);
    column_tiles = FastDivide((columns + n - 1) / n);
    tiles = int64_t{row_tiles.divisor} * column_tiles.divisor;
    for (int d = 1; d < walk.ndim; ++d) {
      if (d == across) continue;
      planes.sizes[planes.ndim] = walk.sizes[d];
      planes.strides[planes.ndim][0] = walk.strides[d][0];
      planes.strides[planes.ndim++][1] = walk.strides[d][1];
      tiles *= walk.sizes[d].divisor;
    }
  }
  TANDEM_HD TransposeTile tile(uint32_t number, uint32_t side) const {
    const uint32_t rest = column_tiles.quotient(number), plane = row_tiles.quotient(rest);
    const auto [at] = planes.offsets(plane);
    return {(rest - plane * row_tiles.divisor) * side, (number - rest * column_tiles.divisor) * side, at[0], at[1]};
  }
};

}  // namespace tandem::cuda_impl
