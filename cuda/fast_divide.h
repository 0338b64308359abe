// Division of 32-bit indices by a divisor known at launch: one multiplication and one shift.
//
// T. Granlund, P. L. Montgomery: Division by Invariant Integers using Multiplication. PLDI 1994. With
// shift = ceil(log2 d) and m = floor(2^32 (2^shift - d) / d) + 1: n / d = (mulhi(n, m) + n) >> shift,
// for n < 2^31.
#pragma once
#include <cstdint>

#include "tandem/core/base/host_device.h"

namespace tandem::cuda_impl {

inline constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

struct FastDivide {
  uint32_t divisor = 1, multiplier = 1, shift = 0;

  FastDivide() = default;
  /// 1 <= divisor < 2^31.
  explicit FastDivide(uint32_t by) : divisor(by), shift(0) {
    while ((uint64_t{1} << shift) < by) ++shift;
    multiplier = static_cast<uint32_t>(((uint64_t{1} << 32) * ((uint64_t{1} << shift) - by)) / by + 1);
  }
  /// n < 2^31.
  TANDEM_HD uint32_t quotient(uint32_t n) const {
#ifdef __CUDA_ARCH__
    const uint32_t high = __umulhi(n, multiplier);
#else
    const auto high = static_cast<uint32_t>(uint64_t{n} * multiplier >> 32);
#endif
    return (high + n) >> shift;
  }
};

}  // namespace tandem::cuda_impl
