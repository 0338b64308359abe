// Philox4x32-10, a counter-based random number generator, for host and device.
//
// J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw: Parallel Random Numbers: As Easy as 1, 2, 3. SC 2011.
// The key is the seed; the counter is (offset of the draw, block). Element i of a draw takes word i % 4 of
// block i / 4 for 32-bit numbers, and words 2 (i % 2), 2 (i % 2) + 1 of block i / 2 for 64-bit ones.
#pragma once
#include <cmath>
#include <cstdint>

#include "tandem/core/base/host_device.h"

namespace tandem {

struct PhiloxBlock {
  uint32_t word[4];
};

inline constexpr uint32_t kPhiloxWeyl0 = 0x9E3779B9u,
                          kPhiloxWeyl1 = 0xBB67AE85u;  // added to the key in each round

TANDEM_HD inline void philox_round(uint32_t& c0, uint32_t& c1, uint32_t& c2, uint32_t& c3, uint32_t k0, uint32_t k1) {
  const uint64_t p0 = uint64_t{0xD2511F53u} * c0, p1 = uint64_t{0xCD9E8D57u} * c2;
  c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
  c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
  c1 = static_cast<uint32_t>(p1);
  c3 = static_cast<uint32_t>(p0);
}

TANDEM_HD inline PhiloxBlock philox(uint64_t seed, uint64_t offset, uint64_t block) {
  uint32_t k0 = static_cast<uint32_t>(seed), k1 = static_cast<uint32_t>(seed >> 32);
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32);
  uint32_t c2 = static_cast<uint32_t>(offset), c3 = static_cast<uint32_t>(offset >> 32);
  for (int round = 0; round < 10; ++round) {
    philox_round(c0, c1, c2, c3, k0, k1);
    k0 += kPhiloxWeyl0;
    k1 += kPhiloxWeyl1;
  }
  return {{c0, c1, c2, c3}};
}

/// Uniform in [0, 1), 24 bits.
TANDEM_HD inline float uniform_float(uint32_t word) { return static_cast<float>(word >> 8) * 0x1p-24f; }
/// Uniform in [0, 1), 53 bits.
TANDEM_HD inline double uniform_double(uint32_t high, uint32_t low) {
  const uint64_t bits = (uint64_t{high} << 32 | low) >> 11;
  return static_cast<double>(bits) * 0x1p-53;
}

}  // namespace tandem
