// The register tiles: one function per number of rows and vectors, selected from a table.
#include "tandem/core/cpu/linalg/microkernel.h"

#include <utility>

namespace tandem::cpu {
namespace {

template <class T, int kRows, int kVectors>
void run_tile(const Tile<T>& tile) {
  constexpr int kWidth = kLanes<T>;
  Vec<T> sum[kRows][kVectors] = {};
  const int64_t b_step = tile.b_step;
  for (int64_t s = 0; s < tile.segment_count; ++s) {
    const T* a = tile.segments[s].a;
    const T* b = tile.segments[s].b;
    for (int64_t i = tile.segments[s].length; i > 0; --i) {
      Vec<T> column[kVectors];
      for (int v = 0; v < kVectors; ++v) column[v] = load(b + v * kWidth);
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
        for (int v = 0; v < kVectors; ++v) sum[r][v] += a[r] * column[v];
      }
      a += kRows;
      b += b_step;
    }
  }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) {
    T* c = tile.c + r * tile.ldc;
    const T bias = tile.row_bias ? tile.row_bias[r] : T(0);
#pragma GCC unroll 2
    for (int v = 0; v < kVectors; ++v) {
      Vec<T> value = tile.alpha * sum[r][v];
      if (tile.row_bias) value += bias;
      if (tile.accumulate) value += load(c + v * kWidth);
      if (tile.addend) value += load(tile.addend + r * tile.ldc + v * kWidth);
      if (tile.relu) value = value < Vec<T>{} ? Vec<T>{} : value;
      store(c + v * kWidth, value);
    }
  }
}

template <class T, int kVectors, int... kRows>
TileKernel<T> pick(int rows, std::integer_sequence<int, kRows...>) {
  static constexpr TileKernel<T> kernels[] = {run_tile<T, kRows + 1, kVectors>...};
  return kernels[rows - 1];
}

}  // namespace

template <class T>
TileKernel<T> tile_kernel(int rows, int vectors) {
  if (vectors == 1) return pick<T, 1>(rows, std::make_integer_sequence<int, kMaxTileRows[1]>{});
  return pick<T, 2>(rows, std::make_integer_sequence<int, kMaxEvenTileRows>{});
}

template TileKernel<float> tile_kernel<float>(int, int);
template TileKernel<double> tile_kernel<double>(int, int);

}  // namespace tandem::cpu
