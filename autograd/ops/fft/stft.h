// Short-time Fourier transforms of signals [length] or [batch, length].
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// The transforms of the windows of n_fft points at 0, hop_length, 2 hop_length, …: [(batch), frequencies, windows].
/// hop_length is n_fft / 4 by default. `window` [win_length] multiplies the points; it is centred among n_fft points if
/// it is shorter, and without it is 1. `center` pads the signal by n_fft / 2 on both sides, in one of pad's modes, so
/// that window i is centred at i hop_length. `onesided`, the default for real signals and windows, keeps n_fft / 2 + 1
/// frequencies. `normalized` divides by sqrt(n_fft). Without `return_complex`, which must be given for real signals,
/// the result is view_as_real's. `align_to_window`, only without `center`, lets the windows of win_length points begin
/// at 0. Throws Error for integers and sizes that do not fit.
Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length,
            const Tensor& window, bool normalized, optional<bool> onesided = nullopt,
            optional<bool> return_complex = nullopt, optional<bool> align_to_window = nullopt);
Tensor stft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length = nullopt,
            optional<int64_t> win_length = nullopt, const Tensor& window = {}, bool center = true,
            std::string_view pad_mode = "reflect", bool normalized = false, optional<bool> onesided = nullopt,
            optional<bool> return_complex = nullopt, optional<bool> align_to_window = nullopt);
/// The inverse, [(batch), length]: the inverse transforms, multiplied by the window and added up, divided by the sum of
/// the squared windows. The latter must not vanish anywhere between the padding of `center` (Error: "window overlap add
/// min"). `length` cuts or pads the result with zeros; `return_complex`, only for a self with all frequencies, is for
/// complex signals.
Tensor istft(const Tensor& self, int64_t n_fft, optional<int64_t> hop_length = nullopt,
             optional<int64_t> win_length = nullopt, const Tensor& window = {}, bool center = true,
             bool normalized = false, optional<bool> onesided = nullopt, optional<int64_t> length = nullopt,
             bool return_complex = false);

}  // namespace tandem
