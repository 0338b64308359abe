// The work of each block of cat's kernel: row-major parts, as a list of pieces passed by value. Plain host
// functions.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

/// `rows` rows of `length` units, placed `pitch` units apart in the result.
struct CatPart {
  const char* from;
  char* to;
  int64_t rows, length;
};

inline constexpr uint32_t kCatThreads = 256, kCatEach = 4, kCatBlock = kCatThreads * kCatEach;
inline constexpr int kMaxCatParts = 80;

/// A kernel parameter, smaller than 4 KB.
struct CatBatch {
  int64_t pitch = 0;
  uint32_t blocks = 0, parts = 0;
  const char* from[kMaxCatParts];
  char* to[kMaxCatParts];
  FastDivide length[kMaxCatParts];
  uint32_t units[kMaxCatParts], first_block[kMaxCatParts];

  /// Returns false when the batch is full.
  bool add(const CatPart& part) {
    if (parts == kMaxCatParts) return false;
    const auto k = parts++;
    from[k] = part.from;
    to[k] = part.to;
    length[k] = FastDivide(static_cast<uint32_t>(part.length));
    units[k] = static_cast<uint32_t>(part.rows * part.length);
    first_block[k] = blocks;
    blocks += (units[k] + kCatBlock - 1) / kCatBlock;
    return true;
  }
  /// The part that a block copies.
  TANDEM_HD uint32_t part_of(uint32_t block) const {
    uint32_t low = 0, high = parts;
    while (high - low > 1) {
      const uint32_t middle = (low + high) / 2;
      if (first_block[middle] <= block)
        low = middle;
      else
        high = middle;
    }
    return low;
  }
};
static_assert(sizeof(CatBatch) <= 4000);

/// Maximum number of rows per piece, so that 31 bits can count the units.
inline int64_t cat_rows(int64_t length) {
  return std::max<int64_t>(1, ((int64_t{1} << 30) - kCatBlock) / std::max<int64_t>(1, length));
}

/// The widest unit, up to 16 bytes, that divides all sizes and addresses ORed into `bits`.
inline int64_t cat_unit(uint64_t bits) {
  bits |= 16;
  return static_cast<int64_t>(bits & (~bits + 1));
}

}  // namespace tandem::cuda_impl
