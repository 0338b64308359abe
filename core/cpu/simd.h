// Short vectors using the compilers' vector extensions: as wide as the target's registers (AVX-512, AVX,
// otherwise 16 bytes). Used only by the matrix and convolution kernels; everything here is inlined.
#pragma once
#include <cstdint>

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
  return Vec<T>{} + value;
}

/// a / b, rounded up; a >= 0, b > 0.
constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

/// Columns of a register tile with two vectors.
template <class T>
inline constexpr int64_t kPanel = 2 * kLanes<T>;

}  // namespace tandem::cpu
