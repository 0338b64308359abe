// float16 (IEEE 754 binary16) and bfloat16: computed in float32 and rounded to nearest even.
#pragma once
#include <bit>
#include <concepts>
#include <cstdint>

#include "tandem/core/base/cpp20.h"  // first: see there
#include "tandem/core/base/host_device.h"

namespace tandem {

namespace detail {
/// Rounds to nearest even; overflow becomes infinity; NaN stays NaN.
TANDEM_HD inline uint16_t half_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = (bits >> 16) & 0x8000u, magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return static_cast<uint16_t>(sign | 0x7e00u);
  if (magnitude >= 0x477ff000u) return static_cast<uint16_t>(sign | 0x7c00u);
  if (magnitude < 0x38800000u) {  // subnormal half, or zero: float addition does the rounding
    const float shifted = std::bit_cast<float>(magnitude) + std::bit_cast<float>(0x3f000000u);
    return static_cast<uint16_t>(sign | (std::bit_cast<uint32_t>(shifted) - 0x3f000000u));
  }
  const uint32_t rounded = magnitude + 0xfffu + ((magnitude >> 13) & 1u);
  return static_cast<uint16_t>(sign | ((rounded - 0x38000000u) >> 13));
}
TANDEM_HD inline float half_value(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16, rest = half & 0x7fffu;
  if (rest >= 0x7c00u) return std::bit_cast<float>(sign | 0x7f800000u | ((rest & 0x3ffu) << 13));
  if (rest >= 0x400u) return std::bit_cast<float>(sign | ((rest << 13) + 0x38000000u));
  const float value = static_cast<float>(rest) * 0x1p-24f;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}
TANDEM_HD inline uint16_t bfloat16_bits(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((bits >> 16) | 0x40u);
  return static_cast<uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}
}  // namespace detail

struct Half {
  uint16_t bits = 0;
  Half() = default;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  /// Half(pattern, Half::from_bits()): the number with these bits.
  TANDEM_HD Half(uint16_t pattern, from_bits_t) : bits(pattern) {}
  TANDEM_HD Half(float value) : bits(detail::half_bits(value)) {}
  TANDEM_HD operator float() const { return detail::half_value(bits); }
  TANDEM_HD Half& operator+=(float b) { return *this = static_cast<float>(*this) + b; }
  TANDEM_HD Half& operator-=(float b) { return *this = static_cast<float>(*this) - b; }
  TANDEM_HD Half& operator*=(float b) { return *this = static_cast<float>(*this) * b; }
  TANDEM_HD Half& operator/=(float b) { return *this = static_cast<float>(*this) / b; }
};

struct BFloat16 {
  uint16_t bits = 0;
  BFloat16() = default;
  struct from_bits_t {};
  static constexpr from_bits_t from_bits() { return {}; }
  /// BFloat16(pattern, BFloat16::from_bits()): the number with these bits.
  TANDEM_HD BFloat16(uint16_t pattern, from_bits_t) : bits(pattern) {}
  TANDEM_HD BFloat16(float value) : bits(detail::bfloat16_bits(value)) {}
  TANDEM_HD operator float() const { return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16); }
  TANDEM_HD BFloat16& operator+=(float b) { return *this = static_cast<float>(*this) + b; }
  TANDEM_HD BFloat16& operator-=(float b) { return *this = static_cast<float>(*this) - b; }
  TANDEM_HD BFloat16& operator*=(float b) { return *this = static_cast<float>(*this) * b; }
  TANDEM_HD BFloat16& operator/=(float b) { return *this = static_cast<float>(*this) / b; }
};

template <class T>
concept HalfNumber = std::same_as<T, Half> || std::same_as<T, BFloat16>;

}  // namespace tandem
