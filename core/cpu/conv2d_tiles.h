// The weights of a convolution as the left operand of register tiles (microkernel.h).
#pragma once
#include <algorithm>

#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/parallel_for.h"

namespace tandem::cpu {

template <class T>
struct WeightTiles {
  const T* weights;  // [group][tile][depth][tile_rows], zero in the rows past those of the group
  const T* bias;     // [group][tile][tile_rows] or none
};

/// Packs the weights and the bias of all groups into Scratch::kConvWeight of the calling thread. `fill(group, first, rows, to)`
/// writes rows of a group as [depth][tile_rows]; it may write anything to the rows past `rows`.
template <class T, class F>
WeightTiles<T> pack_weight_tiles(int64_t groups, int64_t group_out, int64_t depth, int64_t tile_rows,
                                 const T* bias, F fill) {
  const int64_t group_tiles = ceil_div(group_out, tile_rows), tile_size = depth * tile_rows,
                tiles = groups * group_tiles;
  T* packed = scratch<T>(Scratch::kConvWeight, tiles * (tile_size + tile_rows));
  T* packed_bias = packed + tiles * tile_size;
  parallel_for(tiles, std::max<int64_t>(1, 16384 / tile_size), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / group_tiles, first = t % group_tiles * tile_rows,
                    rows = std::min(tile_rows, group_out - first);
      T* to = packed + t * tile_size;
      fill(group, first, rows, to);
      for (int64_t k = 0; rows < tile_rows && k < depth; ++k)
        std::fill(to + k * tile_rows + rows, to + (k + 1) * tile_rows, T(0));
      for (int64_t r = 0; r < tile_rows; ++r)
        packed_bias[t * tile_rows + r] = bias && r < rows ? bias[group * group_out + first + r] : T(0);
    }
  });
  return {packed, bias ? packed_bias : nullptr};
}

}  // namespace tandem::cpu
