// The innermost loop of matrix products and convolutions: a tile of `rows` x `vectors * kLanes` sums held in
// registers.
//
//   c[r][j] = alpha * sum over segments s, over i < s.length of s.a[i * rows + r] * s.b[i * b_step + j]
//             (+ row_bias[r]) (+ c[r][j] if accumulate) (+ addend[r][j]), and then its activation
//
// The segments are read `repeats` times, each time a_repeat and b_repeat further on. The sum is one chain in this order, so
// a tile's bits depend only on its arguments.
#pragma once
#include <cstdint>

#include "tandem/core/conv_epilogue.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {

template <class T>
struct TileSegment {
  const T* a;  // [length][rows]
  const T* b;  // length rows, b_step apart, each `vectors` vectors long
  int64_t length;
};

template <class T>
struct Tile {
  const TileSegment<T>* segments;
  int64_t segment_count;
  int64_t b_step;
  T* c;  // [rows][ldc]
  int64_t ldc;
  T alpha = 1;
  bool accumulate = false;
  const T* row_bias = nullptr;  // [rows] or none
  const T* addend = nullptr;    // [rows][ldc] or none
  FusedActivation activation = FusedActivation::kIdentity;
  uint16_t* rounded = nullptr;  // of pairs, with two vectors: the result as bfloat16 [rows][ldc] in place of c
  int64_t repeats = 1, a_repeat = 0, b_repeat = 0;
};

template <class T>
using TileKernel = void (*)(const Tile<T>&);

/// Maximum number of rows of a tile with one or two vectors.
inline constexpr int kMaxTileRows[3] = {0, kVectorRegisters == 32 ? 25 : 12, kVectorRegisters == 32 ? 12 : 6};

/// The same with two vectors where the right operand needs no more registers: 28 sums, its two vectors and one of the
/// left operand.
inline constexpr int kMaxEvenTileRows = kVectorRegisters == 32 ? 14 : 6;

/// The rows of equal tiles with two vectors for `count` rows, so that few sums are wasted.
constexpr int64_t even_tile_rows(int64_t count) {
  int64_t best = 1, least = 0;
  for (int64_t rows = kMaxEvenTileRows; rows > kMaxEvenTileRows / 2; --rows) {
    const int64_t cost = (count + rows - 1) / rows * (4 * rows + 1);  // the right operand's loads are the 1
    if (least == 0 || cost < least) best = rows, least = cost;
  }
  return count < best ? count < 1 ? 1 : count : best;
}

/// Whether the processor multiplies pairs of bfloat16 (vdpbf16ps of AVX512_BF16), this code is for such ones, and bits may
/// depend on the processor (core/reproducible.h).
bool multiplies_pairs();

/// The kernel for 1 <= rows <= kMaxTileRows[vectors], or kMaxEvenTileRows with two; vectors 1 or 2. T is float or
/// double. With `pairs`, for float and only if multiplies_pairs(), a and b hold two bfloat16 in place of each float: both
/// products are added to the float32 sum, and subnormal numbers count as 0.
template <class T>
TileKernel<T> tile_kernel(int rows, int vectors, bool pairs = false);

}  // namespace tandem::cpu
