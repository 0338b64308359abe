// Conversion between the half types and float32. Loops over integers vectorise; float16 has its own instructions
// on x86 (F16C), which round in the same way.
#include "tandem/core/cpu/pointwise/half_loops.h"

#if defined(__F16C__) && defined(__AVX__)
#include <immintrin.h>
#endif

namespace tandem::cpu {
namespace {

void widen_half(float* __restrict to, const Half* __restrict from, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
  for (; i + 8 <= n; i += 8)
    _mm256_storeu_ps(to + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i))));
#endif
  for (; i < n; ++i) to[i] = from[i];
}

void narrow_half(Half* __restrict to, const float* __restrict from, int64_t n) {
  int64_t i = 0;
#if defined(__F16C__) && defined(__AVX__)
  for (; i + 8 <= n; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(from + i), _MM_FROUND_TO_NEAREST_INT));
#endif
  for (; i < n; ++i) to[i] = from[i];
}

void widen_bfloat16(uint32_t* __restrict to, const uint16_t* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<uint32_t>(from[i]) << 16;
}

// The same as detail::bfloat16_bits, without a branch.
void narrow_bfloat16(uint16_t* __restrict to, const uint32_t* __restrict from, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    const uint32_t bits = from[i], rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const bool nan = (bits & 0x7fffffffu) > 0x7f800000u;
    to[i] = static_cast<uint16_t>((nan ? bits | 0x400000u : rounded) >> 16);
  }
}

}  // namespace

void widen(ScalarType type, float* to, const void* from, int64_t n) {
  if (type == kHalf)
    widen_half(to, static_cast<const Half*>(from), n);
  else
    widen_bfloat16(reinterpret_cast<uint32_t*>(to), static_cast<const uint16_t*>(from), n);
}

void narrow(ScalarType type, void* to, const float* from, int64_t n) {
  if (type == kHalf)
    narrow_half(static_cast<Half*>(to), from, n);
  else
    narrow_bfloat16(static_cast<uint16_t*>(to), reinterpret_cast<const uint32_t*>(from), n);
}

}  // namespace tandem::cpu
