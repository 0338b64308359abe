// Scores of a half type, read by 16 bytes wherever their rows begin, and folded in float32.
#pragma once
#include <tensor_cores.h>

#include "tandem/core/half.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/ops/softmax_max_sum.h"

namespace tandem::cuda_impl {

inline constexpr int kPack = 8;  ///< scores in 16 bytes

// The rounding of half types hides an error of 2^-18 where numbers count, and that numbers below 2^-126 become 0, which
// spares half of the instructions.
__device__ inline float fast_exp_of_half(float x) { return fast_exp2(x * 1.44269504f); }
template <class S, class T>
__device__ inline T exp_of(T x) {
  if constexpr (HalfNumber<S>)
    return fast_exp_of_half(x);
  else
    return fast_exp(x);
}

// kPack scores within two aligned vectors, `skipped` scores after their beginning. An odd number of classes leaves most
// rows unaligned; so no address changes what a thread gets.
struct UnalignedPack {
  uint32_t words[kPack];

  template <class S>
  __device__ UnalignedPack(const S* from, int skipped) {
    using Words = Pack<uint32_t, 4>;
    const auto* aligned = reinterpret_cast<const Words*>(from - skipped);
    const Words low = aligned[0], high = aligned[skipped == 0 ? 0 : 1];  // neither waits for the other
    TANDEM_UNROLL
    for (int k = 0; k < 4; ++k) words[k] = low.x[k], words[k + 4] = high.x[k];
  }
  template <class S>
  __device__ void unpack(int skipped, float (&to)[kPack]) {
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
};

// Calls f(c, scores) with the scores of a lane, kPack from class c on at once, and `beyond` after the last class. `end`
// ends all rows. kTwo: two packs are loaded before the first call, which pays where nothing is stored.
template <bool kTwo, class S, class F>
__device__ inline void for_packs(const S* row, int64_t classes, const S* end, float beyond, int lane, int lanes, F f) {
  const auto skipped = static_cast<int>(reinterpret_cast<uintptr_t>(row) % 16 / sizeof(S));
  const int step = kPack * lanes;
  const int64_t whole = min(classes, end - row - kPack) - kPack;  // no later class begins a pack of aligned vectors
  float x[kPack];
  int64_t c = int64_t{lane} * kPack;
  for (; kTwo && c + step <= whole; c += 2 * step) {
    UnalignedPack first(row + c, skipped), second(row + c + step, skipped);  // both are on their way at once
    first.unpack<S>(skipped, x);
    f(c, x);
    second.unpack<S>(skipped, x);
    f(c + step, x);
  }
  for (; c < classes; c += step) {
    if (c <= whole) {
      UnalignedPack(row + c, skipped).unpack<S>(skipped, x);
    } else {
      TANDEM_UNROLL
      for (int k = 0; k < kPack; ++k) x[k] = c + k < classes ? static_cast<float>(row[c + k]) : beyond;
    }
    f(c, x);
  }
}

// MaxSum::take with fewer instructions, because one pass over half types is not limited by the memory otherwise. It has
// no branch: the compiler would load the second pack only behind it.
__device__ inline void take_pack(MaxSum<float>& state, const float (&x)[kPack]) {
  float largest = state.max;
  TANDEM_UNROLL
  for (int k = 0; k < kPack; ++k) largest = fmaxf(largest, x[k]);  // passes over NaN, which the sum keeps
  const float max = largest > -INFINITY ? largest : 0;
  state.sum *= fast_exp_of_half(state.max - max);
  state.max = largest;
  TANDEM_UNROLL
  for (int k = 0; k < kPack; ++k) state.sum += fast_exp_of_half(x[k] - max);
}

}  // namespace tandem::cuda_impl
