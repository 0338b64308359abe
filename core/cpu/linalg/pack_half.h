// Panels of the half types for register tiles: float32, or pairs of bfloat16 where the processor multiplies them. An
// element has four bytes either way.
#pragma once
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/dtype.h"

namespace tandem::cpu {

/// to[i] = first[i] and second[i] as one element; with no `second`, 0 is in its place.
inline void pair_up(const uint16_t* first, const uint16_t* second, int64_t count, float* to) {
  auto* bits = reinterpret_cast<uint32_t*>(to);
  if (second == nullptr)
    for (int64_t i = 0; i < count; ++i) bits[i] = first[i];
  else
    for (int64_t i = 0; i < count; ++i) bits[i] = first[i] | uint32_t{second[i]} << 16;
}

/// Lines (rows of a left operand, columns of a right one) of numbers along the depth.
struct HalfLines {
  const uint16_t* data;
  int64_t ld;
  bool contiguous_depth;  // line e is at data + e ld; otherwise depth p of all lines is at data + p ld
};

struct HalfPacking {
  explicit HalfPacking(ScalarType dtype) : type(dtype), pairs(dtype == kBFloat16 && multiplies_pairs()) {}

  /// Elements for so many numbers along the depth.
  int64_t packed(int64_t depth) const { return pairs ? (depth + 1) / 2 : depth; }
  TileKernel<float> kernel(int rows, int vectors) const { return tile_kernel<float>(rows, vectors, pairs); }
  /// Packs `count` lines into [packed(depth)][width], zero past count. `count` and `width` at most 32 if the
  /// lines have a contiguous depth.
  void panel(const HalfLines& lines, int64_t count, int64_t width, int64_t depth, float* to) const;

  ScalarType type;
  bool pairs;
};

}  // namespace tandem::cpu
