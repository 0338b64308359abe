// Discrete Fourier transforms of float32 and float64. A complex tensor is a real one with a last dimension of 2 more,
// the real and the imaginary part. Tensors have any strides and at least one element; all dimensions but `dim` have the
// same sizes in both tensors, without the last one of complex tensors. w = exp(-2 pi i / n), or its inverse for
// `inverse`; n is the number of points, at most kMaxFftPoints.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

inline constexpr int64_t kMaxFftPoints = int64_t{1} << 27;

struct FftKernels {
  /// out[k] = scale * sum over j of a[j] w^(jk). out may be a.
  Kernel<"fft_c2c", void(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale)> c2c;
  /// The same for a real a: the first n / 2 + 1 elements, or all n if out has room for them.
  Kernel<"fft_r2c", void(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale)> r2c;
  /// The same for the first n / 2 + 1 elements a of a sequence with a[n - j] = conj(a[j]), whose transform out [n] is
  /// real. The imaginary parts of a[0] and, if n is even, a[n / 2] are taken as 0.
  Kernel<"fft_c2r", void(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale)> c2r;
};

}  // namespace tandem
