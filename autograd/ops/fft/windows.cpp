// Windows for signals, computed on the host in float64.
#include "tandem/autograd/ops/fft/windows.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "tandem/autograd/ops/detail/constant.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

// The window with value(i, n) at point i, where n is the last point of the symmetric window.
template <class F>
Tensor window(const char* operation, int64_t length, bool periodic, const TensorOptions& options, F value) {
  check(is_floating_point(options.dtype()), operation, ": expected a floating point dtype, got ", options.dtype());
  check(length >= 0, operation, ": expected a length >= 0, got ", length);
  check_magnitude(operation, "window_length =", length);
  const Tensor points = autograd::host_table({length}, kDouble);
  const double n = static_cast<double>(periodic ? length : length - 1);
  for (int64_t i = 0; i < length; ++i) points.ptr<double>()[i] = length > 1 ? value(static_cast<double>(i), n) : 1;
  return autograd::constant_on(points, options.resolved_device(), options.dtype())
      .requires_grad_(options.requires_grad());
}

double turn(double i, double n) { return std::cos(2 * std::numbers::pi * i / n); }

}  // namespace

Tensor bartlett_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("bartlett_window", window_length, periodic, options,
                [](double i, double n) { return 1 - std::fabs(2 * i / n - 1); });
}

Tensor blackman_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("blackman_window", window_length, periodic, options,
                [](double i, double n) { return std::max(0.42 - 0.5 * turn(i, n) + 0.08 * turn(2 * i, n), 0.0); });
}

Tensor hamming_window(int64_t window_length, bool periodic, double alpha, double beta, const TensorOptions& options) {
  return window("hamming_window", window_length, periodic, options,
                [=](double i, double n) { return alpha - beta * turn(i, n); });
}
Tensor hamming_window(int64_t window_length, bool periodic, double alpha, const TensorOptions& options) {
  return hamming_window(window_length, periodic, alpha, 0.46, options);
}
Tensor hamming_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return hamming_window(window_length, periodic, 0.54, 0.46, options);
}

Tensor hann_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return window("hann_window", window_length, periodic, options,
                [](double i, double n) { return 0.5 - 0.5 * turn(i, n); });
}

Tensor kaiser_window(int64_t window_length, bool periodic, double beta, const TensorOptions& options) {
  check(std::isfinite(beta), "kaiser_window: expected a finite beta, got ", beta);
  const double scale = std::cyl_bessel_i(0.0, std::fabs(beta));
  return window("kaiser_window", window_length, periodic, options, [=](double i, double n) {
    const double x = 2 * i / n - 1;
    return std::cyl_bessel_i(0.0, std::fabs(beta) * std::sqrt(std::max(1 - x * x, 0.0))) / scale;
  });
}
Tensor kaiser_window(int64_t window_length, bool periodic, const TensorOptions& options) {
  return kaiser_window(window_length, periodic, 12.0, options);
}

#define TANDEM_PERIODIC(f) \
  Tensor f(int64_t window_length, const TensorOptions& options) { return f(window_length, true, options); }
TANDEM_PERIODIC(bartlett_window)
TANDEM_PERIODIC(blackman_window)
TANDEM_PERIODIC(hamming_window)
TANDEM_PERIODIC(hann_window)
TANDEM_PERIODIC(kaiser_window)
#undef TANDEM_PERIODIC

}  // namespace tandem
