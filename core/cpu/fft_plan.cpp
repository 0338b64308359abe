// Complex and real transforms of one length.
#include "tandem/core/cpu/fft_plan.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <numbers>

namespace tandem::cpu {
namespace {

constexpr int64_t kMaxFactor = 100;  // about where the quadratic time exceeds two transforms of the next power of 2

bool has_large_factor(int64_t n) {
  for (int64_t p = 2; p <= kMaxFactor && p * p <= n; ++p)
    while (n % p == 0) n /= p;
  return n > kMaxFactor;
}

/// exp(∓pi i step / half): the roots of unity, in double precision for every T.
template <class T>
std::complex<T> root(int64_t step, int64_t half, bool inverse) {
  const double angle = std::numbers::pi * static_cast<double>(step) / static_cast<double>(half);
  return {static_cast<T>(std::cos(angle)), static_cast<T>(inverse ? std::sin(angle) : -std::sin(angle))};
}

}  // namespace

template <class T>
ComplexPlan<T>::ComplexPlan(int64_t n, bool inverse) : n_(n) {
  const bool chirped = has_large_factor(n);
  const int64_t points = chirped ? static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(2 * n - 1))) : n;
  if (points == 1) return;
  kiss_.make_twiddles(static_cast<int>(points), inverse && !chirped);
  kiss_.factorize(static_cast<int>(points));
  if (!chirped) return;
  const auto size = static_cast<std::size_t>(points);
  chirp_.resize(static_cast<std::size_t>(n));
  int64_t square = 0;  // j² modulo 2 n, which keeps the angle exact
  for (int64_t j = 0; j < n; square = (square + 2 * j + 1) % (2 * n), ++j)
    chirp_[static_cast<std::size_t>(j)] = root<T>(square, n, inverse);
  kernel_.resize(size);
  image_.resize(size);
  product_.assign(size, Complex());
  for (std::size_t j = 0; j < chirp_.size(); ++j)
    product_[j] = product_[(size - j) % size] = std::conj(chirp_[j]) / static_cast<T>(points);
  kiss_.work(0, kernel_.data(), product_.data(), 1, 1);
}

template <class T>
void ComplexPlan<T>::transform(Complex* y, const Complex* x) {
  if (n_ == 1)
    *y = *x;
  else if (!chirp_.empty())
    bluestein(y, x);
  else
    kiss_.work(0, y, x, 1, 1);
}

// The inverse transform of the product is the conjugate of the transform of its conjugate.
template <class T>
void ComplexPlan<T>::bluestein(Complex* y, const Complex* x) {
  for (std::size_t j = 0; j < chirp_.size(); ++j) product_[j] = x[j] * chirp_[j];
  std::fill(product_.begin() + n_, product_.end(), Complex());
  kiss_.work(0, image_.data(), product_.data(), 1, 1);
  for (std::size_t j = 0; j < image_.size(); ++j) product_[j] = std::conj(image_[j] * kernel_[j]);
  kiss_.work(0, image_.data(), product_.data(), 1, 1);
  for (std::size_t k = 0; k < chirp_.size(); ++k) y[k] = std::conj(image_[k]) * chirp_[k];
}

template <class T>
RealPlan<T>::RealPlan(int64_t n, bool inverse) : n_(n), plan_(n % 2 == 0 ? n / 2 : n, inverse) {
  const auto points = static_cast<std::size_t>(n % 2 == 0 ? n / 2 : n);
  in_.resize(points);
  out_.resize(points);
  if (n % 2 == 0)
    for (int64_t k = 0; k <= n / 2; ++k) roots_.push_back(root<T>(k, n / 2, inverse));
}

// For even n, the even elements are the real parts and the odd ones the imaginary parts of z. The transforms of both
// follow from the symmetry of transforms of real numbers: E[k] = (Z[k] + conj(Z[h - k])) / 2 and
// O[k] = (Z[k] - conj(Z[h - k])) / 2i with h = n / 2, and Y[k] = E[k] + w^k O[k].
template <class T>
void RealPlan<T>::real_to_complex(Complex* y, const T* x) {
  const std::size_t points = in_.size();
  if (roots_.empty()) {
    std::copy(x, x + n_, in_.begin());
    plan_.transform(out_.data(), in_.data());
    std::copy(out_.begin(), out_.begin() + n_ / 2 + 1, y);
  } else {
    for (std::size_t j = 0; j < points; ++j) in_[j] = {x[2 * j], x[2 * j + 1]};
    plan_.transform(out_.data(), in_.data());
    for (std::size_t k = 0; k <= points; ++k) {
      const Complex z = out_[k % points], mirrored = std::conj(out_[(points - k) % points]);
      const Complex even = T(0.5) * (z + mirrored), odd = T(0.5) * (z - mirrored);
      y[k] = even + roots_[k] * Complex(odd.imag(), -odd.real());
    }
    y[points].imag(0);
  }
  y[0].imag(0);
}

// The inverse of the above: z[j] = y[2 j] + i y[2 j + 1] is the transform of X[k] + X[k + h] + i w^k (X[k] - X[k + h]),
// where X[k + h] = conj(X[h - k]).
template <class T>
void RealPlan<T>::complex_to_real(T* y, const Complex* x) {
  const std::size_t points = in_.size();
  if (roots_.empty()) {
    in_[0] = x[0].real();
    for (std::size_t k = 1; k <= points / 2; ++k) {
      in_[k] = x[k];
      in_[points - k] = std::conj(x[k]);
    }
    plan_.transform(out_.data(), in_.data());
    for (std::size_t j = 0; j < points; ++j) y[j] = out_[j].real();
    return;
  }
  for (std::size_t k = 0; k < points; ++k) {
    const Complex a = k == 0 ? Complex(x[0].real()) : x[k];
    const Complex b = k == 0 ? Complex(x[points].real()) : std::conj(x[points - k]);
    const Complex turned = roots_[k] * (a - b);
    in_[k] = a + b + Complex(-turned.imag(), turned.real());
  }
  plan_.transform(out_.data(), in_.data());
  for (std::size_t j = 0; j < points; ++j) {
    y[2 * j] = out_[j].real();
    y[2 * j + 1] = out_[j].imag();
  }
}

template class ComplexPlan<float>;
template class ComplexPlan<double>;
template class RealPlan<float>;
template class RealPlan<double>;

}  // namespace tandem::cpu
