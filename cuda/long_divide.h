// Division of numbers below a limit that is known at launch: fast where the limit allows it.
#pragma once
#include <cstdint>

#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

struct LongDivide {
  int64_t divisor;
  bool wide;
  FastDivide fast;

  LongDivide(int64_t by, int64_t limit)
      : divisor(by < 1 ? 1 : by),
        wide((limit < by ? by : limit) >= int64_t{1} << 31),
        fast(wide ? 1 : static_cast<uint32_t>(divisor)) {}
  TANDEM_HD int64_t quotient(int64_t n) const { return wide ? n / divisor : fast.quotient(static_cast<uint32_t>(n)); }
};

}  // namespace tandem::cuda_impl
