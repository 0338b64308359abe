// Random words by the lane of a vector.
#pragma once
#include <cstdint>

#include "tandem/core/random/generator.h"

namespace tandem::cpu {

inline constexpr int kPhiloxLanes = 16;

/// Word w of block l is word[w][l].
struct PhiloxLanes {
  alignas(64) uint32_t word[4][kPhiloxLanes];
};

/// The blocks from `first` on of a draw (philox.h).
void philox_lanes(PhiloxLanes& out, const Generator::Draw& draw, uint64_t first);

}  // namespace tandem::cpu
