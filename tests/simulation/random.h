// Numbers drawn from a seed, the same on every machine.
#pragma once
#include <cstdint>

namespace tandem::simulation {

/// A permutation of the 64-bit numbers (the finaliser of SplitMix64).
inline uint64_t mix(uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Random {
 public:
  /// Streams of one seed are independent.
  Random(uint64_t seed, uint64_t stream) : state_(mix(mix(seed) + stream)) {}
  uint64_t next() { return mix(state_++); }
  /// From 0 to n - 1.
  uint64_t below(uint64_t n) { return next() % n; }
  /// From `first` to `last`.
  int64_t between(int64_t first, int64_t last) {
    return first + static_cast<int64_t>(below(static_cast<uint64_t>(last - first) + 1));
  }
  bool one_in(uint64_t n) { return below(n) == 0; }

 private:
  uint64_t state_;
};

}  // namespace tandem::simulation
