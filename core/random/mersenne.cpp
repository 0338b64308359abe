// MT19937 and its normal numbers.
#include "tandem/core/random/mersenne.h"

#include <cmath>
#include <numbers>

namespace tandem::detail {

MersenneState::MersenneState(uint64_t seed) {
  word[0] = static_cast<uint32_t>(seed);
  for (uint32_t i = 1; i < 624; ++i) word[i] = 1812433253u * (word[i - 1] ^ word[i - 1] >> 30) + i;
  used = 624;
}

void MersenneState::twist() {
  for (int i = 0; i < 624; ++i) {
    const uint32_t joined = (word[i] & 0x80000000u) | (word[(i + 1) % 624] & 0x7FFFFFFFu);
    word[i] = word[(i + 397) % 624] ^ joined >> 1 ^ ((joined & 1) != 0 ? 0x9908B0DFu : 0u);
  }
  used = 0;
}

uint32_t MersenneState::next() {
  if (used >= 624) twist();
  uint32_t y = word[used++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9D2C5680u;
  y ^= y << 15 & 0xEFC60000u;
  return y ^ y >> 18;
}

double MersenneStream::normal() {
  if (state_->has_normal != 0) {
    state_->has_normal = 0;
    return state_->normal;
  }
  const double turn = 2 * std::numbers::pi * uniform_double();
  const double radius = std::sqrt(-2 * std::log1p(-uniform_double()));
  state_->normal = radius * std::sin(turn);
  state_->has_normal = 1;
  return radius * std::cos(turn);
}

}  // namespace tandem::detail
