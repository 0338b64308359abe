// Panels of the half types for register tiles: float32, or pairs of bfloat16 where the processor multiplies them. An
// element has four bytes either way.
#pragma once
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/dtype.h"

namespace tandem::cpu {

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
  /// One element of each of `count` lines: of the numbers at depth p, or of the pairs from `first` and `second`, at depth
  /// p and p + 1.
  void row(const uint16_t* first, const uint16_t* second, int64_t count, float* to) const {
    if (!pairs) return widen(type, to, first, count);
    auto* bits = reinterpret_cast<uint32_t*>(to);
    for (int64_t e = 0; e < count; ++e) bits[e] = first[e] | uint32_t{second[e]} << 16;
  }
  /// Packs `count` lines into [packed(depth)][width], zero past count. `count` and `width` at most 32 if the
  /// lines have a contiguous depth.
  void panel(const HalfLines& lines, int64_t count, int64_t width, int64_t depth, float* to) const;

  ScalarType type;
  bool pairs;
};

}  // namespace tandem::cpu
