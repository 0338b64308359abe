// Replaces cuda/toolkit/tensor_cores.h, which says what these do. A copy arrives as late as it may.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tandem/core/half.h"
#include "tandem/tests/cuda_emulation/device.h"

namespace tandem::cuda_impl {

inline float fast_exp2(float x) { return std::exp2(x); }

template <class S>
uint32_t rounded_pair(float first, float second) {
  return uint32_t{S(first).bits} | uint32_t{S(second).bits} << 16;
}

template <class S>
void multiply_tiles(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1,
                    const char* file = __builtin_FILE(), int line = __builtin_LINE()) {
  using namespace cuda_emulation;
  const uint32_t own[6] = {a[0], a[1], a[2], a[3], b0, b1};
  const uint64_t* lanes = exchange(reinterpret_cast<uint64_t>(own), {file, line});
  const auto number = [&](int of, int word, int k) {
    const uint32_t pair = reinterpret_cast<const uint32_t*>(lanes[of])[word];
    return static_cast<float>(S(static_cast<uint16_t>(pair >> 16 * (k % 2)), S::from_bits()));
  };
  const int g = lane() / 4, t = lane() % 4;
  for (int k = 0; k < 16; ++k) {
    const int high = k / 8, of = k % 8 / 2;
    for (int i = 0; i < 4; ++i)
      d[i] += number(4 * g + of, i / 2 + 2 * high, k) * number(4 * (2 * t + i % 2) + of, 4 + high, k);
  }
  __syncwarp(0xffffffffu, file, line);
}

template <bool transposed>
void load_matrices(uint32_t (&to)[4], const void* row, const char* file = __builtin_FILE(),
                   int line = __builtin_LINE()) {
  using namespace cuda_emulation;
  const uint64_t* rows = exchange(reinterpret_cast<uint64_t>(row), {file, line});
  const int g = lane() / 4, t = lane() % 4;
  for (int i = 0; i < 4; ++i) {
    uint16_t pair[2];
    for (int k = 0; k < 2; ++k) {
      const int r = transposed ? 2 * t + k : g, column = transposed ? g : 2 * t + k;
      pair[k] = reinterpret_cast<const uint16_t*>(rows[8 * i + r])[column];
    }
    std::memcpy(&to[i], pair, sizeof pair);
  }
}

inline void start_copy(void* to, const void* from, bool real) { cuda_emulation::copy_later(to, real ? from : nullptr); }
inline void finish_copies() { cuda_emulation::copy_now(); }

}  // namespace tandem::cuda_impl
