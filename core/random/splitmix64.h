// SplitMix64's output function: each input bit flips about half of the output bits. Used for the keys of
// random streams and for hashes.
//
// G. L. Steele, D. Lea, C. H. Flood: Fast Splittable Pseudorandom Number Generators. OOPSLA 2014.
#pragma once
#include <cstdint>

namespace tandem {

constexpr uint64_t mixed(uint64_t x) {
  x += 0x9E3779B97F4A7C15u;
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
  return x ^ (x >> 31);
}

}  // namespace tandem
