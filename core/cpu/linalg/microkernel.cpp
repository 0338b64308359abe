// The register tiles: one function per number of rows and vectors, selected from a table.
#include "tandem/core/cpu/linalg/microkernel.h"

#include <type_traits>
#include <utility>

#include "tandem/core/reproducible.h"

#ifdef __AVX512F__
#include <immintrin.h>
#endif

namespace tandem::cpu {
namespace {

// From the sums of row r to the values of the result.
template <class T, int kVectors>
[[gnu::always_inline]] inline void finish_row(const Tile<T>& tile, int r, Vec<T> (&value)[kVectors]) {
  const T bias = tile.row_bias ? tile.row_bias[r] : T(0);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) {
    value[v] *= tile.alpha;
    if (tile.row_bias) value[v] += bias;
    if (tile.accumulate) value[v] += load(tile.c + r * tile.ldc + v * kLanes<T>);
    if (tile.addend) value[v] += load(tile.addend + r * tile.ldc + v * kLanes<T>);
    value[v] = activated(value[v], tile.activation);
  }
}
template <class T, int kVectors>
[[gnu::always_inline]] inline void store_row(const Tile<T>& tile, int r, Vec<T> (&sum)[kVectors]) {
  finish_row<T, kVectors>(tile, r, sum);
#pragma GCC unroll 2
  for (int v = 0; v < kVectors; ++v) store(tile.c + r * tile.ldc + v * kLanes<T>, sum[v]);
}

template <class T, int kRows, int kVectors>
void run_tile(const Tile<T>& tile) {
  constexpr int kWidth = kLanes<T>;
  Vec<T> sum[kRows][kVectors] = {};
  const int64_t b_step = tile.b_step;
  for (int64_t t = 0; t < tile.repeats; ++t)
    for (int64_t s = 0; s < tile.segment_count; ++s) {
      const T* a = tile.segments[s].a + t * tile.a_repeat;
      const T* b = tile.segments[s].b + t * tile.b_repeat;
      for (int64_t i = tile.segments[s].length; i > 0; --i) {
        Vec<T> column[kVectors];
        for (int v = 0; v < kVectors; ++v) column[v] = load(b + v * kWidth);
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) {
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v) sum[r][v] = fma(a[r], column[v], sum[r][v]);
        }
        a += kRows;
        b += b_step;
      }
    }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) store_row<T, kVectors>(tile, r, sum[r]);
}

#ifdef __AVX512F__
// A loop of its own: only a function with the attribute may use the instruction.
template <int kRows, int kVectors>
[[gnu::target("avx512bf16")]] void run_pair_tile(const Tile<float>& tile) {
  Vec<float> sum[kRows][kVectors] = {};
  for (int64_t t = 0; t < tile.repeats; ++t)
    for (int64_t s = 0; s < tile.segment_count; ++s) {
      const float *a = tile.segments[s].a + t * tile.a_repeat, *b = tile.segments[s].b + t * tile.b_repeat;
      for (int64_t i = tile.segments[s].length; i > 0; --i) {
        Vec<float> column[kVectors];
        for (int v = 0; v < kVectors; ++v) __builtin_memcpy(&column[v], b + v * kLanes<float>, sizeof column[v]);
#pragma GCC unroll 32
        for (int r = 0; r < kRows; ++r) {
          const auto pair = reinterpret_cast<__m512bh>(_mm512_set1_ps(a[r]));
#pragma GCC unroll 2
          for (int v = 0; v < kVectors; ++v)
            sum[r][v] = _mm512_dpbf16_ps(sum[r][v], pair, reinterpret_cast<__m512bh>(column[v]));
        }
        a += kRows;
        b += tile.b_step;
      }
    }
  if constexpr (kVectors == 2)
    if (tile.rounded != nullptr) {
#pragma GCC unroll 32
      for (int r = 0; r < kRows; ++r) {
        finish_row<float, kVectors>(tile, r, sum[r]);
        const __m512bh both = _mm512_cvtne2ps_pbh(sum[r][1], sum[r][0]);
        __builtin_memcpy(tile.rounded + r * tile.ldc, &both, sizeof both);
      }
      return;
    }
#pragma GCC unroll 32
  for (int r = 0; r < kRows; ++r) store_row<float, kVectors>(tile, r, sum[r]);
}

template <int kVectors, int... kRows>
TileKernel<float> pick_pairs(int rows, std::integer_sequence<int, kRows...>) {
  static constexpr TileKernel<float> kernels[] = {run_pair_tile<kRows + 1, kVectors>...};
  return kernels[rows - 1];
}
#endif

template <class T, int kVectors, int... kRows>
TileKernel<T> pick(int rows, std::integer_sequence<int, kRows...>) {
  static constexpr TileKernel<T> kernels[] = {run_tile<T, kRows + 1, kVectors>...};
  return kernels[rows - 1];
}

}  // namespace

bool multiplies_pairs() {
#ifdef __AVX512F__
  static const bool has = __builtin_cpu_supports("avx512bf16") != 0 && reproducible() == Reproducible::kOff;
  return has;
#else
  return false;
#endif
}

template <class T>
TileKernel<T> tile_kernel(int rows, int vectors, [[maybe_unused]] bool pairs) {
#ifdef __AVX512F__
  if constexpr (std::is_same_v<T, float>)
    if (pairs)
      return vectors == 1 ? pick_pairs<1>(rows, std::make_integer_sequence<int, kMaxTileRows[1]>{})
                          : pick_pairs<2>(rows, std::make_integer_sequence<int, kMaxEvenTileRows>{});
#endif
  if (vectors == 1) return pick<T, 1>(rows, std::make_integer_sequence<int, kMaxTileRows[1]>{});
  return pick<T, 2>(rows, std::make_integer_sequence<int, kMaxEvenTileRows>{});
}

template TileKernel<float> tile_kernel<float>(int, int, bool);
template TileKernel<double> tile_kernel<double>(int, int, bool);

}  // namespace tandem::cpu
