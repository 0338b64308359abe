#include "tandem/core/cpu/linalg/pack_half.h"

#include <algorithm>
#include <cstring>

#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"

namespace tandem::cpu {
namespace {

// Pairs of depth p and p + 1, with 0 where there is none.
void pack_pairs(const HalfLines& x, int64_t count, int64_t width, int64_t depth, float* to) {
  const int64_t whole = depth / 2;
  if (!x.contiguous_depth) {
    for (int64_t p = 0; p < whole; ++p)
      pair_up(x.data + 2 * p * x.ld, x.data + (2 * p + 1) * x.ld, count, to + p * width);
  } else if (x.ld % 2 == 0 && reinterpret_cast<uintptr_t>(x.data) % alignof(float) == 0) {
    transpose(count, whole, reinterpret_cast<const float*>(x.data), x.ld / 2, to, width);
  } else {
    for (int64_t e = 0; e < count; ++e)
      for (int64_t p = 0; p < whole; ++p) std::memcpy(to + p * width + e, x.data + e * x.ld + 2 * p, sizeof(float));
  }
  if (depth % 2 != 0)
    for (int64_t e = 0; e < count; ++e) {
      const uint32_t last = x.data[x.contiguous_depth ? e * x.ld + depth - 1 : (depth - 1) * x.ld + e];
      std::memcpy(to + whole * width + e, &last, sizeof last);
    }
}

void pack_floats(ScalarType type, const HalfLines& x, int64_t count, int64_t width, int64_t depth, float* to) {
  if (!x.contiguous_depth) {
    for (int64_t p = 0; p < depth; ++p) widen(type, to + p * width, x.data + p * x.ld, count);
    return;
  }
  constexpr int64_t kPiece = 64;  // of the depth
  float rows[2 * kMaxTileRows[1] * kPiece];
  for (int64_t p = 0; p < depth; p += kPiece) {
    const int64_t here = std::min(kPiece, depth - p);
    for (int64_t e = 0; e < count; ++e) widen(type, rows + e * here, x.data + e * x.ld + p, here);
    transpose(count, here, rows, here, to + p * width, width);
  }
}

}  // namespace

void HalfPacking::panel(const HalfLines& lines, int64_t count, int64_t width, int64_t depth, float* to) const {
  if (pairs)
    pack_pairs(lines, count, width, depth, to);
  else
    pack_floats(type, lines, count, width, depth, to);
  if (count == width) return;
  for (int64_t i = 0; i < packed(depth); ++i) std::fill(to + i * width + count, to + (i + 1) * width, 0.0f);
}

}  // namespace tandem::cpu
