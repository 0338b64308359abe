// Windows for signals: vectors of weights that fall off towards both ends. A periodic window is the first
// window_length points of the symmetric one with one point more. Floating point; throws Error for other dtypes and for
// a negative length.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Triangular, 0 at the ends.
Tensor bartlett_window(int64_t window_length, const TensorOptions& options = {});
Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
/// 0.42 - 0.5 cos(2 pi i / n) + 0.08 cos(4 pi i / n)
Tensor blackman_window(int64_t window_length, const TensorOptions& options = {});
Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
/// alpha - beta cos(2 pi i / n); hann has alpha = beta = 0.5.
Tensor hamming_window(int64_t window_length, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, const TensorOptions& options = {});
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta,
                      const TensorOptions& options = {});
Tensor hann_window(int64_t window_length, const TensorOptions& options = {});
Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
/// I0(beta sqrt(1 - (2 i / n - 1)²)) / I0(beta), with the modified Bessel function I0.
Tensor kaiser_window(int64_t window_length, const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic, const TensorOptions& options = {});
Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options = {});

}  // namespace tandem
