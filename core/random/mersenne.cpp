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

// In three parts, without remainders of indices, which the compiler vectorises.
void MersenneState::twist() {
  const auto mixed = [this](int i, int next) {
    const uint32_t joined = (word[i] & 0x80000000u) | (word[next] & 0x7FFFFFFFu);
    return joined >> 1 ^ (-(joined & 1) & 0x9908B0DFu);
  };
  for (int i = 0; i < 227; ++i) word[i] = word[i + 397] ^ mixed(i, i + 1);
  for (int i = 227; i < 623; ++i) word[i] = word[i - 227] ^ mixed(i, i + 1);
  word[623] = word[396] ^ mixed(623, 0);
  used = 0;
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
