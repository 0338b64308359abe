// Differentiable Fourier transforms of pairs: tensors whose last dimension of 2 holds the real and the imaginary part
// of a complex number. Internal to the sources of operations, which convert complex tensors. Dimensions are those of
// the complex tensor, from 0; `inverse` is the sign of the exponent, and scale multiplies the result. Sizes are checked
// by the caller (check_points).
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::autograd {

/// Integers converted to the default dtype. Throws Error for the half types.
Tensor fft_input(const char* operation, const Tensor& self);
/// The pairs of a complex tensor, as a view; the pairs of a real one have imaginary parts of 0.
Tensor fft_as_pairs(const Tensor& x);
/// Throws Error unless there are between 1 and kMaxFftPoints points.
void check_points(const char* operation, int64_t n);
/// Pairs to pairs along each of dims.
Tensor fft_pairs(const Tensor& x, IntArrayRef dims, bool inverse, double scale);
/// A real tensor to pairs: n / 2 + 1 of them along dim, or all n.
Tensor fft_real(const Tensor& x, int64_t dim, bool all, bool inverse, double scale);
/// Pairs [n / 2 + 1], the first half of a sequence with x[n - j] = conj(x[j]), to n real numbers along dim.
Tensor fft_hermitian(const Tensor& x, int64_t dim, int64_t n, bool inverse, double scale);

}  // namespace tandem::autograd
