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

namespace detail {

/// a b + c, rounded once as math::fma. Explicit, because GCC 12 contracts products of complex numbers in vectorised loops
/// whatever -ffp-contract says.
template <class T>
TANDEM_HD constexpr T add_product(T a, T b, T c) {
#if defined(__CUDA_ARCH__)
  if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) return ::fma(a, b, c);
#elif defined(__FMA__) || defined(__aarch64__)
  if (!std::is_constant_evaluated()) {
    if constexpr (std::is_same_v<T, float>) return __builtin_fmaf(a, b, c);
    if constexpr (std::is_same_v<T, double>) return __builtin_fma(a, b, c);
  }
#endif
  return a * b + c;
}

}  // namespace detail

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
    using detail::add_product;
    return {add_product(a.re, b.re, -(a.im * b.im)), add_product(a.re, b.im, a.im * b.re)};
  }
  /// R. L. Smith, "Algorithm 116: Complex division" (1962): no intermediate value overflows.
  TANDEM_HD friend constexpr Complex operator/(Complex a, Complex b) {
    using detail::add_product;
    const T size_re = b.re < 0 ? -b.re : b.re, size_im = b.im < 0 ? -b.im : b.im;
    if (size_re >= size_im) {
      if (size_re == 0) return {a.re / size_re, a.im / size_re};
      const T ratio = b.im / b.re, scale = 1 / add_product(b.im, ratio, b.re);
      return {add_product(a.im, ratio, a.re) * scale, add_product(-a.re, ratio, a.im) * scale};
    }
    const T ratio = b.re / b.im, scale = 1 / add_product(b.re, ratio, b.im);
    return {add_product(a.re, ratio, a.im) * scale, add_product(a.im, ratio, -a.re) * scale};
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
