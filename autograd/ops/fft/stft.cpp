// stft and istft, composed of windows, transforms and their adjoints.
// Complex signals are pairs of real numbers (fft_op.h).
#include "tandem/autograd/ops/fft/stft.h"

#include <cmath>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/fft/fft_op.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/view/unfold.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {
using namespace autograd;

void check_window(const char* operation, const Tensor& self, const Tensor& window, int64_t n_fft, int64_t hop_length,
                  int64_t win_length) {
  check(win_length > 0 && win_length <= n_fft, operation,
        ": expected 0 < win_length <= n_fft, but got win_length=", win_length, " and n_fft=", n_fft);
  check(hop_length > 0, operation, ": expected hop_length > 0, but got hop_length=", hop_length);
  if (!window.defined()) return;
  check(window.device() == self.device(), operation, ": the window must be on the same device\n  self   ", self,
        "\n  window ", window);
  check(window.dim() == 1 && window.size(0) == win_length, operation,
        ": expected a 1D window tensor of size equal to win_length=", win_length, ", got ", window);
}

/// Zeros before and after the last dimension.
Tensor zero_padded(const Tensor& x, int64_t before, int64_t after) {
  if (!x.is_complex()) return constant_pad_nd(x, {before, after});
  return view_as_complex(constant_pad_nd(view_as_real(x), {0, 0, before, after}));
}

/// The window with zeros around it; undefined if it is 1 everywhere.
Tensor full_window(const Tensor& self, const Tensor& window, int64_t n_fft, int64_t win_length) {
  if (win_length == n_fft) return window;
  const ScalarType real = self.is_complex() ? toRealValueType(self.scalar_type()) : self.scalar_type();
  const Tensor points = window.defined() ? window : ones({win_length}, self.options().dtype(real));
  const int64_t left = (n_fft - win_length) / 2;
  return zero_padded(points, left, n_fft - win_length - left);
}

/// The signal [batch, length] padded on both sides.
Tensor padded(const Tensor& x, int64_t amount, std::string_view mode) {
  if (!x.is_complex()) return pad(x, {amount, amount}, mode);
  const Tensor parts = pad(view_as_real(x).movedim(-1, 1), {amount, amount}, mode);
  return view_as_complex(parts.movedim(1, -1).contiguous());
}

/// The windows [batch, count, n_fft] of a signal, multiplied by `window`.
Tensor frames(const Tensor& x, int64_t n_fft, int64_t hop, const Tensor& window) {
  const Tensor parts = x.unfold(1, n_fft, hop);
  return window.defined() ? parts * window : parts;
}

}  // namespace

Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length,
            const Tensor& window, bool center, std::string_view pad_mode, bool normalized, optional<bool> onesided,
            optional<bool> return_complex, optional<bool> align_to_window) {
  if (const auto to = autocast::full_precision(self))
    return stft(to(self), n_fft, hop_length, win_length, to(window), center, pad_mode, normalized, onesided,
                return_complex, align_to_window);
  check(!center || !align_to_window.has_value(), "stft: only supports align_to_window for center = false");
  check(self.is_floating_point() || self.is_complex(),
        "stft: expected a tensor of floating point or complex values, got ", self);
  check(self.dim() == 1 || self.dim() == 2, "stft: expected a 1D or 2D tensor, got ", self);
  const bool complex_result = self.is_complex() || (window.defined() && window.is_complex());
  check(return_complex.has_value() || complex_result,
        "stft: requires the return_complex parameter be given for real inputs");
  const int64_t hop = hop_length.value_or(n_fft / 4), length = win_length.value_or(n_fft);
  check_points("stft", n_fft);
  Tensor x = self.dim() == 1 ? self.unsqueeze(0) : self;
  if (center) x = padded(x, n_fft / 2, pad_mode);
  check_window("stft", self, window, n_fft, hop, length);
  const bool aligned = align_to_window.value_or(false);
  const int64_t points = aligned ? length : n_fft;
  check(points <= x.size(1), "stft: expected 0 < ", aligned ? "win_length" : "n_fft", " <= ", x.size(1),
        ", the length of the signal, but got ", points);
  if (aligned) {
    // The same points of a transform as without align_to_window, from windows that begin with the signal.
    const int64_t left = (n_fft - length) / 2;
    x = zero_padded(x, left, n_fft - length - left);
  }
  const Tensor parts = fft_input("stft", frames(x, n_fft, hop, full_window(self, window, n_fft, length)));
  const double scale = normalized ? 1 / std::sqrt(static_cast<double>(n_fft)) : 1;
  const bool half = onesided.value_or(!complex_result);
  check(!half || !complex_result, "stft: Cannot have onesided output if window or input is complex");
  Tensor out =
      parts.is_complex() ? fft_pairs(view_as_real(parts), {2}, false, scale) : fft_real(parts, 2, !half, false, scale);
  out = out.transpose(1, 2);
  if (self.dim() == 1) out = out.squeeze(0);
  return return_complex.value_or(complex_result) ? view_as_complex(out) : out;
}

Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length,
            const Tensor& window, bool normalized, optional<bool> onesided, optional<bool> return_complex,
            optional<bool> align_to_window) {
  return stft(self, n_fft, hop_length, win_length, window, /*center=*/false, "constant", normalized, onesided,
              return_complex, align_to_window);
}

namespace {

/// Throws Error unless self [(batch), frequencies, windows] fits the other arguments.
void check_spectrum(const Tensor& self, int64_t n_fft, int64_t hop, int64_t win_length, bool half) {
  check(self.is_complex(),
        "istft: requires a complex-valued input tensor matching the output from stft with "
        "return_complex=True, got ",
        self);
  check(self.dim() == 2 || self.dim() == 3, "istft: expected a tensor with 2 or 3 dimensions, got ", self);
  check(self.numel() != 0, "istft: input tensor cannot be empty, got ", self);
  check_points("istft", n_fft);
  const int64_t frequencies = half ? n_fft / 2 + 1 : n_fft;
  check(self.size(-2) == frequencies, "istft: expected ", frequencies, " frequencies (",
        half ? "n_fft / 2 + 1 when onesided" : "n_fft when not onesided", "), got ", self);
  check(hop > 0 && hop <= win_length, "istft: expected 0 < hop_length <= win_length, but got hop_length=", hop,
        " and win_length=", win_length);
}

/// The inverse transforms [batch, windows, n_fft] of pairs [batch, windows, frequencies, 2].
Tensor inverse_frames(const Tensor& pairs, int64_t n_fft, bool half, bool normalized, bool complex_result) {
  const double n = static_cast<double>(n_fft), scale = normalized ? 1 / std::sqrt(n) : 1 / n;
  if (complex_result) return view_as_complex(fft_pairs(pairs, {2}, true, scale));
  return fft_hermitian(half ? pairs : pairs.narrow(2, 0, n_fft / 2 + 1), 2, n_fft, true, scale);
}

/// The windows [batch, count, n_fft] added up at distances of `hop`.
Tensor overlap_add(const Tensor& windows, int64_t n_fft, int64_t hop, int64_t length) {
  return unfold_backward(windows, {windows.size(0), length}, 1, n_fft, hop);
}

}  // namespace

Tensor istft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length,
             const Tensor& window, bool center, bool normalized, optional<bool> onesided, optional<int64_t> length,
             bool return_complex) {
  if (const auto to = autocast::full_precision(self))
    return istft(to(self), n_fft, hop_length, win_length, to(window), center, normalized, onesided, length,
                 return_complex);
  const int64_t hop = hop_length.value_or(n_fft / 4), points = win_length.value_or(n_fft);
  const bool half = onesided.value_or(self.dim() < 2 || self.size(-2) != n_fft);
  check_spectrum(self, n_fft, hop, points, half);
  check_window("istft", self, window, n_fft, hop, points);
  check(!return_complex || !half, "istft: Cannot have onesided output if window or input is complex");
  check(return_complex || !window.defined() || !window.is_complex(),
        "istft: Complex windows are incompatible with return_complex=False");
  const Tensor pairs = view_as_real(self.dim() == 2 ? self.unsqueeze(0) : self).transpose(1, 2);
  const int64_t count = pairs.size(1), whole = add_sizes("istft", n_fft, multiply_sizes("istft", hop, count - 1));
  Tensor shape = full_window(self, window, n_fft, points);
  if (!shape.defined()) shape = ones({n_fft}, self.options().dtype(toRealValueType(self.scalar_type())));
  const Tensor windows = inverse_frames(pairs, n_fft, half, normalized, return_complex) * shape;
  const Tensor squares = (shape * shape).expand({1, count, n_fft});
  const int64_t start = center ? n_fft / 2 : 0;
  if (length.has_value()) check_magnitude("istft", "length =", *length);
  const int64_t end = length.has_value() ? start + *length : center ? whole - n_fft / 2 : whole;
  const Tensor envelope = overlap_add(squares, n_fft, hop, whole).slice(1, start, end);
  check(envelope.numel() != 0 && envelope.abs().min().item<double>() >= 1e-11,
        "istft: window overlap add min: the windows do not cover every point of the result; choose another "
        "window, or a "
        "smaller hop_length");
  Tensor out = overlap_add(windows, n_fft, hop, whole).slice(1, start, end) / envelope;
  if (self.dim() == 2) out = out.squeeze(0);
  return end > whole ? zero_padded(out, 0, end - whole) : out;
}

Tensor Tensor::stft(int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length, const Tensor& window,
                    bool normalized, optional<bool> onesided, optional<bool> return_complex,
                    optional<bool> align_to_window) const {
  return tandem::stft(*this, n_fft, hop_length, win_length, window, normalized, onesided, return_complex,
                      align_to_window);
}
Tensor Tensor::stft(int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length, const Tensor& window,
                    bool center, std::string_view pad_mode, bool normalized, optional<bool> onesided,
                    optional<bool> return_complex, optional<bool> align_to_window) const {
  return tandem::stft(*this, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided,
                      return_complex, align_to_window);
}
Tensor Tensor::istft(int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length, const Tensor& window,
                     bool center, bool normalized, optional<bool> onesided, optional<int64_t> length,
                     bool return_complex) const {
  return tandem::istft(*this, n_fft, hop_length, win_length, window, center, normalized, onesided, length,
                       return_complex);
}

}  // namespace tandem
