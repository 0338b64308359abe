// Fourier transforms, and what prepares signals for them. The last dimension of a signal is the real part, or both
// parts.
#include <cmath>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// The signal without its last dimension, real or complex. The transforms have no half types.
Tensor signal(const Tensor& x) {
  check(x.dim() >= 1 && (x.size(-1) == 1 || x.size(-1) == 2),
        "the last dimension must be 1 or 2 (real, imaginary), got ", x);
  check(x.is_floating_point(), "expected floating point, got ", x);
  const Tensor wide = autograd::widened(x);
  return x.size(-1) == 1 ? wide.squeeze(-1) : view_as_complex(wide.contiguous());
}
// The first half of the spectrum of real numbers says it all.
Tensor transform(const Tensor& x, int64_t points, int64_t axis, bool onesided) {
  if (!onesided) return view_as_real(fft_fft(x, points, axis));
  if (!x.is_complex()) return view_as_real(fft_rfft(x, points, axis));
  return view_as_real(fft_fft(x, points, axis)).narrow(axis, 0, points / 2 + 1);
}

Tensor dft(Call& c) {
  const Tensor x = signal(c[0]);
  const int64_t rank = c[0].dim();
  const int64_t given = c.has(2) ? c.integer(2) : c.integer("axis", c.version() < 20 ? 1 : -2);
  const int64_t axis = wrap_axis(given, rank);
  check(axis < rank - 1, "axis ", given, " has the real and imaginary parts");
  const bool onesided = c.flag("onesided"), inverse = c.flag("inverse");
  const int64_t size = x.size(axis);
  const int64_t points = c.has(1) ? c.integer(1) : inverse && onesided ? 2 * (size - 1) : size;
  Tensor out;
  if (!inverse)
    out = transform(x, points, axis, onesided);
  else
    out = onesided ? fft_irfft(x, points, axis).unsqueeze(-1) : view_as_real(fft_ifft(x, points, axis));
  return out.to(c[0].scalar_type());
}

Tensor stft_of(Call& c) {
  // ONNX Runtime also takes signals [batch, length].
  const Tensor x = signal(c[0].dim() == 2 ? c[0].unsqueeze(-1) : c[0]);
  check(x.dim() == 2, "expected a signal [batch, length, 1 or 2], got ", c[0]);
  const Tensor window = c.optional(2);
  check(!window.defined() || window.dim() == 1, "the window must be a vector, got ", window);
  const int64_t step = c.integer(1);
  const int64_t length = c.has(3) ? c.integer(3) : window.defined() ? window.size(0) : x.size(1);
  check(step > 0 && length > 0 && length <= x.size(1), "frame_step ", step, " and frame_length ", length,
        " are out of range for a signal of ", x.size(1));
  Tensor frames = unfold(x, 1, length, step);
  if (window.defined()) {
    check(window.size(0) == length, "the window must be [", length, "], got ", window);
    frames = frames * window.to(x.is_complex() ? toRealValueType(x.scalar_type()) : x.scalar_type());
  }
  return transform(frames, length, 2, c.flag("onesided", true)).to(c[0].scalar_type());
}

Operator window_of(const char* name, Tensor (*window)(int64_t n, bool periodic)) {
  return {name,
          [window](Call& c) {
            return window(c.integer(0), c.flag("periodic", true)).to(c.dtype("output_datatype", kFloat));
          },
          0b1};
}

// Triangles [frequency, band] that are 1 at one frequency, and 0 at those of the neighbouring bands; the frequencies of
// the bands have equal distances in mel.
Tensor mel_weights(Call& c) {
  const int64_t bands = c.integer(0), points = c.integer(1), rate = c.integer(2);
  check(bands >= 0 && points >= 0 && rate > 0, "num_mel_bins, dft_length and sample_rate must be positive, got ", bands,
        ", ", points, " and ", rate);
  const auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  const double low = mel(c.number(3)), high = mel(c.number(4));
  const Tensor steps = arange(add_sizes("MelWeightMatrix", bands, 2), kDouble);
  const Tensor mels = steps * ((high - low) / static_cast<double>(bands + 2)) + low;
  const Tensor hertz = (pow(10, mels / 2595) - 1) * 700;
  const Tensor at = floor(hertz * (static_cast<double>(points) + 1) / static_cast<double>(rate));
  const Tensor before = at.narrow(0, 0, bands), peak = at.narrow(0, 1, bands), after = at.narrow(0, 2, bands);
  const Tensor frequency = arange(points / 2 + 1, kDouble).unsqueeze(1);
  const Tensor rise = (frequency - before) / clamp_min(peak - before, 1);
  const Tensor fall = (after - frequency) / clamp_min(after - peak, 1);
  const Tensor sides = clamp_min(minimum(rise, fall), 0);
  return where(frequency == peak, 1.0, sides).to(c.dtype("output_datatype", kFloat));
}

}  // namespace

Operators signal_operators() {
  return {
      window_of("BlackmanWindow", [](int64_t n, bool periodic) { return blackman_window(n, periodic, kDouble); }),
      {"DFT", dft, 0b110},
      window_of("HammingWindow",
                [](int64_t n, bool periodic) { return hamming_window(n, periodic, 25.0 / 46, 21.0 / 46, kDouble); }),
      window_of("HannWindow", [](int64_t n, bool periodic) { return hann_window(n, periodic, kDouble); }),
      {"MelWeightMatrix", mel_weights, 0b11111},
      {"STFT", stft_of, 0b1010},
  };
}

}  // namespace tandem::onnx
