// Loads of narrow elements as vectors of float, and stores.
#pragma once
#include <bit>
#include <type_traits>

#include "tandem/core/cpu/simd.h"
#include "tandem/core/half.h"

#if defined(__F16C__) || defined(__AVX2__)
#include <immintrin.h>
#endif

namespace tandem::cpu {

/// kLanes<T> elements from `from` on, converted to T. M is T, or a half type or int8_t with T = float.
template <class T, class M>
[[gnu::always_inline]] inline Vec<T> load_wide(const M* from) {
  if constexpr (std::is_same_v<M, BFloat16>) {
    typedef uint16_t Narrow __attribute__((vector_size(kVectorBytes / 2)));
    Narrow bits;
    __builtin_memcpy(&bits, from, sizeof bits);
    return std::bit_cast<Vec<float>>(__builtin_convertvector(bits, Vec<uint32_t>) << 16);
  } else if constexpr (std::is_same_v<M, Half>) {
#if defined(__AVX512F__)
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(from)));
#elif defined(__F16C__)
    return _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from)));
#else
    Vec<float> out;
    for (int i = 0; i < kLanes<float>; ++i) out[i] = from[i];
    return out;
#endif
  } else if constexpr (std::is_same_v<M, int8_t> && std::is_same_v<T, float>) {
#if defined(__AVX512F__)
    return _mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(from))));
#elif defined(__AVX2__)
    return _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(from))));
#else
    Vec<float> out;
    for (int i = 0; i < kLanes<float>; ++i) out[i] = from[i];
    return out;
#endif
  } else {
    return load(from);
  }
}

/// Wide<T>::kCount of them.
template <class T, class M>
[[gnu::always_inline]] inline Wide<T> load_block(const M* from) {
  Wide<T> out;
  for (int i = 0; i < Wide<T>::kVectors; ++i) out.v[i] = load_wide<T>(from + i * kLanes<T>);
  return out;
}

/// Stores the elements of a vector from `to` on, rounded to M, which is T, or a half type with T = float.
template <class T, class M>
[[gnu::always_inline]] inline void store_narrow(M* to, Vec<T> v) {
  if constexpr (std::is_same_v<M, BFloat16>) {  // as detail::bfloat16_bits
    typedef uint16_t Narrow __attribute__((vector_size(kVectorBytes / 2)));
    const auto bits = std::bit_cast<Vec<uint32_t>>(v);
    const Vec<uint32_t> rounded = bits + 0x7fffu + ((bits >> 16) & 1u);
    const auto both = (bits & 0x7fffffffu) > 0x7f800000u ? bits | 0x400000u : rounded;
    const Narrow out = __builtin_convertvector(both >> 16, Narrow);
    __builtin_memcpy(static_cast<void*>(to), &out, sizeof out);
  } else if constexpr (std::is_same_v<M, Half>) {
#if defined(__AVX512F__)
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), _mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#elif defined(__F16C__)
    _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
    for (int i = 0; i < kLanes<float>; ++i) to[i] = v[i];
#endif
  } else {
    store(to, v);
  }
}

}  // namespace tandem::cpu
