// Transforms of one length: Eigen's kissfft, and around it Bluestein's algorithm for lengths with a large prime factor,
// for which kissfft would need quadratic time. Include it only in fft*.cpp, the sources that see Eigen.
#pragma once
#include <complex>
#include <unsupported/Eigen/FFT>
#include <vector>

#include "tandem/core/backend/fft.h"

namespace tandem::cpu {

/// y[k] = sum over j of x[j] exp(∓2 pi i jk / n), k < n. A plan has working memory: threads use copies.
template <class T>
class ComplexPlan {
 public:
  using Complex = std::complex<T>;
  ComplexPlan(int64_t n, bool inverse);
  /// x and y do not overlap.
  void transform(Complex* y, const Complex* x);

 private:
  void bluestein(Complex* y, const Complex* x);
  int64_t n_;
  Eigen::internal::kiss_cpx_fft<T> kiss_;  // with Bluestein's algorithm of a longer, forward transform
  // With chirp[j] = exp(∓pi i j² / n): y[k] = chirp[k] times the convolution of x chirp with 1 / chirp.
  std::vector<Complex> chirp_, kernel_, product_, image_;
};

/// The same between n real numbers and the first n / 2 + 1 elements of their transform. If n is even, by a complex
/// transform of half the length.
template <class T>
class RealPlan {
 public:
  using Complex = std::complex<T>;
  RealPlan(int64_t n, bool inverse);
  void real_to_complex(Complex* y, const T* x);
  /// Reads n / 2 + 1 elements.
  void complex_to_real(T* y, const Complex* x);

 private:
  int64_t n_;
  ComplexPlan<T> plan_;
  std::vector<Complex> roots_, in_, out_;  // roots: exp(∓2 pi i k / n), k <= n / 2, if n is even
};

extern template class ComplexPlan<float>;
extern template class ComplexPlan<double>;
extern template class RealPlan<float>;
extern template class RealPlan<double>;

}  // namespace tandem::cpu
