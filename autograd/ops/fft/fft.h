// Discrete Fourier transforms: the functions of torch.fft.
//
// X[k] = sum over j of x[j] exp(-2 pi i jk / n) is the forward transform; the inverse has the other sign and the factor
// 1 / n. norm moves the factor: "backward" (the default: on inverse transforms), "forward" (on forward transforms) or
// "ortho" (1 / sqrt(n) on both). n, or s for several dimensions, is the length of the signal: the input is cut or
// padded with zeros at its end. Integers are converted to the default dtype.
//
// All throw Error for half precision, a length < 1 or above 2^27, a repeated dimension, and another norm.
#pragma once
#include <string_view>

#include "tandem/core/base/optional_array_ref.h"
#include "tandem/core/tensor.h"

namespace tandem {

using FftNorm = optional<std::string_view>;

// ---- one dimension
/// Complex to complex; a real input counts as complex.
Tensor fft_fft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);
Tensor fft_ifft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);
/// Real to the first n / 2 + 1 elements of its forward transform; the others are their conjugates. Throws Error for a
/// complex input.
Tensor fft_rfft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);
/// The inverse: n / 2 + 1 elements to n real ones, by default 2 (size - 1).
Tensor fft_irfft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);
/// The forward transform, real, of the signal x with x[n - j] = conj(x[j]) whose first n / 2 + 1 elements are given.
Tensor fft_hfft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);
/// The inverse: the first n / 2 + 1 elements of the inverse transform of a real signal.
Tensor fft_ihfft(const Tensor& self, optional<int64_t> n = nullopt, int64_t dim = -1, FftNorm norm = nullopt);

// ---- several dimensions: all by default, or the last s.size(); -1 in s keeps the size. Real signals have the
// symmetry, and half the size, in the last of `dim`.
Tensor fft_fftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                FftNorm norm = nullopt);
Tensor fft_ifftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                 FftNorm norm = nullopt);
Tensor fft_rfftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                 FftNorm norm = nullopt);
Tensor fft_irfftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                  FftNorm norm = nullopt);
Tensor fft_hfftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                 FftNorm norm = nullopt);
Tensor fft_ihfftn(const Tensor& self, OptionalIntArrayRef s = nullopt, OptionalIntArrayRef dim = nullopt,
                  FftNorm norm = nullopt);
// ---- the same with two dimensions by default
Tensor fft_fft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                FftNorm norm = nullopt);
Tensor fft_ifft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                 FftNorm norm = nullopt);
Tensor fft_rfft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                 FftNorm norm = nullopt);
Tensor fft_irfft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                  FftNorm norm = nullopt);
Tensor fft_hfft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                 FftNorm norm = nullopt);
Tensor fft_ihfft2(const Tensor& self, OptionalIntArrayRef s = nullopt, IntArrayRef dim = {-2, -1},
                  FftNorm norm = nullopt);

// ---- frequencies
/// The frequencies of a transform of n points at distance d: [0, 1, …, (n - 1) / 2, -(n / 2), …, -1] / (d n). Throws
/// Error for an integer dtype.
Tensor fft_fftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {});
/// The frequencies of fft_rfft: [0, 1, …, n / 2] / (d n).
Tensor fft_rfftfreq(int64_t n, double d = 1.0, const TensorOptions& options = {});
/// Moves the frequency 0 from the start to the middle, along all dimensions by default.
Tensor fft_fftshift(const Tensor& self, OptionalIntArrayRef dim = nullopt);
/// The inverse of fft_fftshift.
Tensor fft_ifftshift(const Tensor& self, OptionalIntArrayRef dim = nullopt);

}  // namespace tandem
