// Scores of a half type, read by 16 bytes wherever their rows begin, and folded in float32.
#pragma once
#include "tandem/core/half.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/ops/softmax_max_sum.h"

namespace tandem::cuda_impl {

inline constexpr int kPack = 8;  ///< scores in 16 bytes

// The rounding of half types hides an error of 2^-18, which is that of the device's fast exp where numbers count.
template <class S, class T>
__device__ inline T exp_of(T x) {
  if constexpr (HalfNumber<S>)
    return __expf(x);
  else
    return fast_exp(x);
}

// Scores c ... c + kPack - 1 of a row, and `beyond` after its last one. An odd number of classes leaves most rows
// unaligned, so aligned vectors are loaded and shifted: no address changes what a thread gets. `end` is that of all
// rows.
template <class S>
__device__ inline void load_pack(const S* row, int64_t c, int64_t classes, const S* end, float beyond,
                                 float (&to)[kPack]) {
  using Words = Vector<uint32_t, 4>;
  const S* from = row + c;
  const auto skipped = static_cast<int>(reinterpret_cast<uintptr_t>(from) % sizeof(Words) / sizeof(S));
  const S* aligned = from - skipped;
  if (c + kPack > classes || end - aligned < (skipped == 0 ? kPack : 2 * kPack)) {
    TANDEM_UNROLL
    for (int k = 0; k < kPack; ++k) to[k] = c + k < classes ? static_cast<float>(from[k]) : beyond;
    return;
  }
  const Words low = *reinterpret_cast<const Words*>(aligned),
              high = skipped == 0 ? low : *reinterpret_cast<const Words*>(aligned + kPack);
  uint32_t words[8];
  TANDEM_UNROLL
  for (int k = 0; k < 4; ++k) words[k] = low.at[k], words[k + 4] = high.at[k];
  TANDEM_UNROLL
  for (int k = 0; k < 6; ++k) words[k] = skipped & 4 ? words[k + 2] : words[k];
  TANDEM_UNROLL
  for (int k = 0; k < 5; ++k) words[k] = skipped & 2 ? words[k + 1] : words[k];
  TANDEM_UNROLL
  for (int k = 0; k < 4; ++k) {
    const uint32_t word = skipped & 1 ? words[k] >> 16 | words[k + 1] << 16 : words[k];
    to[2 * k] = S(static_cast<uint16_t>(word), S::from_bits());
    to[2 * k + 1] = S(static_cast<uint16_t>(word >> 16), S::from_bits());
  }
}

// MaxSum::take with fewer instructions, because one pass over half types is not limited by the memory otherwise.
__device__ inline void take_pack(MaxSum<float>& state, const float (&x)[kPack]) {
  float largest = x[0];
  TANDEM_UNROLL
  for (int k = 1; k < kPack; ++k) largest = fmaxf(largest, x[k]);  // passes over NaN, which the sum keeps
  if (largest > state.max) {
    state.sum *= __expf(state.max - largest);
    state.max = largest;
  }
  const float max = state.max > -INFINITY ? state.max : 0;
  TANDEM_UNROLL
  for (int k = 0; k < kPack; ++k) state.sum += __expf(x[k] - max);
}

template <class S>
__device__ inline void take_row(MaxSum<float>& state, const S* row, int64_t classes, const S* end, int lane,
                                int lanes) {
  for (int64_t c = int64_t{lane} * kPack; c < classes; c += int64_t{2 * kPack} * lanes) {
    float first[kPack], second[kPack];
    load_pack(row, c, classes, end, -INFINITY, first);
    load_pack(row, c + kPack * lanes, classes, end, -INFINITY, second);
    take_pack(state, first);
    take_pack(state, second);
  }
}

}  // namespace tandem::cuda_impl
