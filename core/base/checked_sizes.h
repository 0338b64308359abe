// Overflow-checked sums and products of caller-supplied sizes. The Error names the operation.
#pragma once
#include <cstdint>

#include "tandem/core/error.h"

namespace tandem {

/// No meaningful padding, offset or size is larger; sums of a few such numbers do not overflow.
inline constexpr int64_t kMaxSize = int64_t{1} << 60;

inline int64_t add_sizes(const char* operation, int64_t a, int64_t b) {
  int64_t sum = 0;
  check(!__builtin_add_overflow(a, b, &sum), operation, ": too many elements: ", a, " + ", b);
  return sum;
}
inline int64_t multiply_sizes(const char* operation, int64_t a, int64_t b) {
  int64_t product = 0;
  check(!__builtin_mul_overflow(a, b, &product), operation, ": too many elements: ", a, " times ", b);
  return product;
}
/// Throws Error unless |value| <= kMaxSize.
inline void check_magnitude(const char* operation, const char* what, int64_t value) {
  check(value >= -kMaxSize && value <= kMaxSize, operation, ": ", what, " ", value, " is too large");
}

}  // namespace tandem
