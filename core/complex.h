// Complex: the element type of complex tensors, for host and device. It converts to and from std::complex, which it
// does not include, and has its layout: the real part, then the imaginary part.
#pragma once
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/half.h"

namespace tandem {

/// std::complex<T>, Complex<T>, and other types with their members and layout.
template <class C>
concept ComplexLike = requires(const C& z, typename C::value_type part) {
  requires std::is_floating_point_v<typename C::value_type> || std::is_same_v<typename C::value_type, Half>;
  requires sizeof(C) == 2 * sizeof(typename C::value_type);
  { z.real() } -> std::convertible_to<typename C::value_type>;
  { z.imag() } -> std::convertible_to<typename C::value_type>;
  C(part, part);
};

template <class T>
struct Complex {
  using value_type = T;
  T re, im;

  Complex() = default;
  TANDEM_HD constexpr Complex(T real, T imag) : re(real), im(imag) {}
  template <class Part>
  requires(std::is_arithmetic_v<Part>) TANDEM_HD explicit(!std::is_same_v<Part, T>) constexpr Complex(Part real)
      : re(static_cast<T>(real)), im(0) {}
  template <ComplexLike C>
  requires(!std::is_same_v<C, Complex>) Complex(const C& z)
      : re(static_cast<T>(z.real())), im(static_cast<T>(z.imag())) {}
  template <ComplexLike C>
  requires(!std::is_same_v<C, Complex>) operator C() const {
    using Part = typename C::value_type;
    return C(static_cast<Part>(re), static_cast<Part>(im));
  }
  TANDEM_HD constexpr T real() const { return re; }
  TANDEM_HD constexpr T imag() const { return im; }

  TANDEM_HD friend constexpr Complex operator*(Complex a, Complex b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
  }
  /// R. L. Smith, "Algorithm 116: Complex division" (1962): no intermediate value overflows.
  TANDEM_HD friend constexpr Complex operator/(Complex a, Complex b) {
    const T size_re = b.re < 0 ? -b.re : b.re, size_im = b.im < 0 ? -b.im : b.im;
    if (size_re >= size_im) {
      if (size_re == 0) return {a.re / size_re, a.im / size_re};
      const T ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
      return {(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
    }
    const T ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
    return {(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
  }
  TANDEM_HD friend constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
};

/// 16 bytes that kernels move as one element, aligned as a complex number is.
struct Bits16 {
  uint64_t low, high;
  Bits16() = default;
  TANDEM_HD explicit constexpr Bits16(uint64_t value) : low(value), high(0) {}
};

}  // namespace tandem
