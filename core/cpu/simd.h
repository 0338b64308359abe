// Short vectors using the compilers' vector extensions: as wide as the target's registers (AVX-512, AVX,
// otherwise 16 bytes). Everything here is inlined.
//
// Results have the same bits on every processor: products are added with fma(), and what is summed in lanes is summed in
// those of Wide, whatever the width of a register.
#pragma once
#include <cmath>
#include <cstdint>

#if defined(__FMA__)
#include <immintrin.h>
#elif defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace tandem::cpu {

#if defined(__AVX512F__)
inline constexpr int kVectorBytes = 64;
inline constexpr int kVectorRegisters = 32;
#elif defined(__AVX__)
inline constexpr int kVectorBytes = 32;
inline constexpr int kVectorRegisters = 16;
#elif defined(__aarch64__)
inline constexpr int kVectorBytes = 16;
inline constexpr int kVectorRegisters = 32;
#else
inline constexpr int kVectorBytes = 16;
inline constexpr int kVectorRegisters = 16;
#endif

template <class T>
struct VectorOf {
  typedef T type __attribute__((vector_size(kVectorBytes)));
};
template <class T>
using Vec = typename VectorOf<T>::type;

/// Number of elements in a vector.
template <class T>
inline constexpr int kLanes = kVectorBytes / static_cast<int>(sizeof(T));

/// Loads and stores at any address aligned for T.
template <class T>
inline Vec<T> load(const T* from) {
  Vec<T> v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
inline void store(T* to, Vec<T> v) {
  __builtin_memcpy(to, &v, sizeof v);
}
template <class T>
inline Vec<T> broadcast(T value) {
  return value - Vec<T>{};
}

/// a b + c, rounded once where the processor can: with x86-64-v3 and 64-bit Arm.
[[gnu::always_inline]] inline Vec<float> fma(Vec<float> a, Vec<float> b, Vec<float> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_ps(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_ps(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f32(c, a, b);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline Vec<double> fma(Vec<double> a, Vec<double> b, Vec<double> c) {
#if defined(__AVX512F__)
  return _mm512_fmadd_pd(a, b, c);
#elif defined(__FMA__)
  return _mm256_fmadd_pd(a, b, c);
#elif defined(__aarch64__)
  return vfmaq_f64(c, a, b);
#else
  return a * b + c;
#endif
}
[[gnu::always_inline]] inline Vec<float> fma(float a, Vec<float> b, Vec<float> c) { return fma(broadcast(a), b, c); }
[[gnu::always_inline]] inline Vec<double> fma(double a, Vec<double> b, Vec<double> c) {
  return fma(broadcast(a), b, c);
}

/// 64 bytes of numbers in one vector or several.
template <class T>
struct Wide {
  static constexpr int kVectors = 64 / kVectorBytes, kCount = 64 / static_cast<int>(sizeof(T));
  Vec<T> v[kVectors];

  T operator[](int lane) const { return v[lane / kLanes<T>][lane % kLanes<T>]; }
  [[gnu::always_inline]] Wide& operator+=(const Wide& other) {
    for (int i = 0; i < kVectors; ++i) v[i] += other.v[i];
    return *this;
  }
  [[gnu::always_inline]] friend Wide operator+(Wide a, const Wide& b) { return a += b; }
};
template <class T>
[[gnu::always_inline]] inline Wide<T> fma(const Wide<T>& a, const Wide<T>& b, Wide<T> c) {
  for (int i = 0; i < Wide<T>::kVectors; ++i) c.v[i] = fma(a.v[i], b.v[i], c.v[i]);
  return c;
}
/// Its elements added one after the other.
template <class T>
inline T sum_lanes(const Wide<T>& a) {
  T sum = 0;
  for (int i = 0; i < Wide<T>::kCount; ++i) sum += a[i];
  return sum;
}

/// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Columns of a register tile with two vectors.
template <class T>
inline constexpr int64_t kPanel = 2 * kLanes<T>;

}  // namespace tandem::cpu
