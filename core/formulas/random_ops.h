// Random distributions, for host and device: each turns Philox blocks into elements.
//
// An operation turns block b of a draw into the elements kCount<T> b … kCount<T> b + kCount<T> - 1, numbered in
// row-major order whatever the strides. Types lists the stored types; float16 and bfloat16 are computed as float.
// apply() has no branches where a loop over it should vectorise.
#pragma once
#include "tandem/core/backend/random.h"
#include "tandem/core/formulas/random_math.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/random/philox.h"

namespace tandem {

using StoredFloatTypes = TypeList<float, double, Half, BFloat16>;

}  // namespace tandem

namespace tandem::ops {

namespace detail {
template <class T>
inline constexpr bool kIsDouble = std::is_same_v<T, double>;
/// The types of a distribution, and the elements per block: four 32-bit words, or two 64-bit words for float64.
struct FloatDraw {
  using Types = StoredFloatTypes;
  template <class T>
  static constexpr int kCount = kIsDouble<T> ? 2 : 4;
};
template <int kElements>
struct IntegerDraw {
  using Types = AllTypes;
  template <class T>
  static constexpr int kCount = kElements;
};
/// `value`, by way of float for a half type.
template <class T, class Integer>
TANDEM_HD inline T stored(Integer value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}
template <class T>
using Computed = std::conditional_t<kIsDouble<T>, double, float>;

TANDEM_HD inline uint64_t word64(const PhiloxBlock& block, int i) {
  return uint64_t{block.word[2 * i]} << 32 | block.word[2 * i + 1];
}
/// In (0, 1]: 2^-33 + word / 2^32, rounded.
TANDEM_HD inline float open_uniform(uint32_t word) { return std::fma(static_cast<float>(word), 0x1p-32f, 0x1p-33f); }
/// In (0, 1]: 53 bits.
TANDEM_HD inline double open_uniform(uint64_t word) {
  return std::fma(static_cast<double>(word >> 11), 0x1p-53, 0x1p-53);
}
}  // namespace detail

/// Uniform in [a, b), from 24 bits, or 53 for float64.
struct Uniform : detail::FloatDraw {
  static constexpr const char* name = "uniform_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    using C = detail::Computed<T>;
    const C from = static_cast<C>(p.a), width = static_cast<C>(p.b - p.a);
    const T first = static_cast<T>(from), last = static_cast<T>(static_cast<C>(p.b));
    for (int i = 0; i < kCount<T>; ++i) {
      C u;
      if constexpr (detail::kIsDouble<T>)
        u = uniform_double(block.word[2 * i], block.word[2 * i + 1]);
      else
        u = uniform_float(block.word[i]);
      const T value = static_cast<T>(std::fma(u, width, from));
      out[i] = value < last ? value : first;  // rounding may reach b
    }
  }
};

/// Normal with mean a and standard deviation b, by G. E. P. Box and M. E. Muller (1958): a pair of uniform
/// numbers u, v becomes sqrt(-2 ln u) (cos 2 pi v, sin 2 pi v).
struct Normal : detail::FloatDraw {
  static constexpr const char* name = "normal_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    if constexpr (detail::kIsDouble<T>) {
      pair(detail::word64(block, 0), detail::word64(block, 1), p.a, p.b, out);
    } else {
      const float mean = static_cast<float>(p.a), std = static_cast<float>(p.b);
      pair(block.word[0], block.word[1], mean, std, out);
      pair(block.word[2], block.word[3], mean, std, out + 2);
    }
  }
  template <class Word, class C, class T>
  TANDEM_HD static void pair(Word u, Word v, C mean, C std, T* out) {
    const C radius = std::sqrt(C(-2) * random_math::log(detail::open_uniform(u))) * std;
    const auto turn = random_math::sincos_turn(v);
    out[0] = static_cast<T>(std::fma(radius, turn.cos, mean));
    out[1] = static_cast<T>(std::fma(radius, turn.sin, mean));
  }
};

/// Exponential with rate a: -ln u / a, always above 0.
struct Exponential : detail::FloatDraw {
  static constexpr const char* name = "exponential_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    using C = detail::Computed<T>;
    const C rate = static_cast<C>(p.a);
    const C most = detail::kIsDouble<T> ? C(1) - C(0x1p-53) : C(1) - C(0x1p-24);
    for (int i = 0; i < kCount<T>; ++i) {
      C u;
      if constexpr (detail::kIsDouble<T>)
        u = detail::open_uniform(detail::word64(block, i));
      else
        u = detail::open_uniform(block.word[i]);
      u = u < most ? u : most;
      out[i] = static_cast<T>(-random_math::log(u) / rate);
    }
  }
};

/// Whether word / 2^32 < p: 1 or 0, without a branch.
class Hit {
 public:
  TANDEM_HD explicit Hit(double p) {
    const auto threshold = static_cast<uint64_t>(p * 0x1p32);
    most_ = threshold == 0 ? 0 : static_cast<uint32_t>(threshold - 1);
    possible_ = threshold == 0 ? 0 : 1;
  }
  TANDEM_HD uint32_t operator()(uint32_t word) const { return (word <= most_ ? 1u : 0u) & possible_; }

 private:
  uint32_t most_, possible_;
};

/// 1 where word / 2^32 < a, else 0: the same elements for every type.
struct Bernoulli : detail::IntegerDraw<4> {
  static constexpr const char* name = "bernoulli_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    const Hit hits(p.a);
    for (int i = 0; i < 4; ++i) out[i] = detail::stored<T>(hits(block.word[i]));
  }
};

/// base + floor(range r), where r has 64 bits: the relative difference between the probabilities of two values is at
/// most range / 2^64. For ranges up to 2^32.
struct RandomInteger : detail::IntegerDraw<2> {
  static constexpr const char* name = "random_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    for (int i = 0; i < 2; ++i) {
      const uint64_t r = math::multiply_high(detail::word64(block, i), p.range);
      store(p.base, r, out[i]);
    }
  }
  template <class T>
  TANDEM_HD static void store(int64_t base, uint64_t r, T& out) {
    out = detail::stored<T>(static_cast<int64_t>(static_cast<uint64_t>(base) + r));
  }
};

/// The same for every range, where r has 128 bits; range 0 stands for 2^64.
struct RandomWideInteger : detail::IntegerDraw<1> {
  static constexpr const char* name = "random_";
  template <class T>
  TANDEM_HD static void apply(const PhiloxBlock& block, const RandomParameters& p, T* out) {
    const uint64_t high = detail::word64(block, 0), low = detail::word64(block, 1);
    uint64_t r = high;
    if (p.range != 0) {  // floor((2^64 high + low) range / 2^128)
      const uint64_t product = high * p.range;
      r = math::multiply_high(high, p.range);
      r += product + math::multiply_high(low, p.range) < product ? 1 : 0;
    }
    RandomInteger::store(p.base, r, *out);
  }
};

}  // namespace tandem::ops
