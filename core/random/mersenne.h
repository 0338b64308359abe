// The stream of PyTorch's CPU generator: MT19937 (M. Matsumoto, T. Nishimura: Mersenne Twister. ACM TOMACS 8, 1998),
// and the second of two normal numbers, which waits for the next draw.
#pragma once
#include <cstdint>

#include "tandem/core/random/generator.h"

namespace tandem::detail {

struct MersenneState {
  uint32_t word[624];
  uint32_t used = 0;  ///< words taken since the last twist; 624: all
  uint32_t has_normal = 0;
  double normal = 0;

  /// Only the low 32 bits of the seed count.
  explicit MersenneState(uint64_t seed);
  uint32_t next() {
    if (used >= 624) twist();
    uint32_t y = word[used++];
    y ^= y >> 11;
    y ^= y << 7 & 0x9D2C5680u;
    y ^= y << 15 & 0xEFC60000u;
    return y ^ y >> 18;
  }

 private:
  void twist();
};

/// Exclusive use of a generator's stream, which is seeded on its first use.
class MersenneStream {
 public:
  explicit MersenneStream(const Generator& generator);
  ~MersenneStream();
  MersenneStream(const MersenneStream&) = delete;
  MersenneStream& operator=(const MersenneStream&) = delete;

  uint32_t word() { return state_->next(); }
  uint64_t word64() {
    const uint64_t high = word();
    return high << 32 | word();
  }
  /// Uniform in [0, 1), 24 and 53 bits.
  float uniform() { return static_cast<float>(word() & 0xFFFFFF) * 0x1p-24f; }
  double uniform_double() { return static_cast<double>(word64() & 0x1FFFFFFFFFFFFF) * 0x1p-53; }
  /// Normal with mean 0 and standard deviation 1 (Box and Muller); every second call uses up the pair.
  double normal();

 private:
  const Generator generator_;
  MersenneState* state_;
};

}  // namespace tandem::detail
