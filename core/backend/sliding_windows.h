// The parameters of convolution and pooling, which slide a window over images. Pairs have the height first.
#pragma once
#include <array>
#include <cstdint>

namespace tandem {

/// The number of windows along an axis of `in` elements, by PyTorch's rules; 0 if none fits.
constexpr int64_t window_count(int64_t in, int64_t kernel, int64_t stride, int64_t padding, int64_t dilation,
                               bool ceil_mode = false) {
  const int64_t room = in + 2 * padding - dilation * (kernel - 1) - 1 + (ceil_mode ? stride - 1 : 0);
  if (room < 0) return 0;
  const int64_t last = room / stride;
  // With ceil_mode the last window may reach past the padding, but must begin inside the input or its left padding.
  return ceil_mode && last * stride >= in + padding ? last : last + 1;
}

/// Strides, dilations and groups are >= 1, padding >= 0.
struct Conv2dParameters {
  std::array<int64_t, 2> stride{1, 1}, padding{0, 0}, dilation{1, 1};
  int64_t groups = 1;

  /// The size of the output along axis `d` of an input of size `in`, for a kernel of this size.
  constexpr int64_t out_size(std::size_t d, int64_t in, int64_t kernel) const {
    return window_count(in, kernel, stride[d], padding[d], dilation[d]);
  }
};

/// Kernel, stride and dilation are >= 1, 0 <= padding <= kernel / 2.
struct Pool2dParameters {
  std::array<int64_t, 2> kernel{1, 1}, stride{1, 1}, padding{0, 0};
  std::array<int64_t, 2> dilation{1, 1};  // max pooling only
  bool ceil_mode = false;
  bool count_include_pad = true;  // average pooling only
  int64_t divisor_override = 0;   // average pooling only; 0: the window size

  /// The size of the output along axis `d` of an input of size `in`.
  constexpr int64_t out_size(std::size_t d, int64_t in) const {
    return window_count(in, kernel[d], stride[d], padding[d], dilation[d], ceil_mode);
  }
  /// Whether the windows are 2 x 2, side by side and without padding, for which kernels have faster loops.
  constexpr bool halves() const {
    constexpr std::array<int64_t, 2> kTwo{2, 2}, kOne{1, 1}, kZero{0, 0};
    return kernel == kTwo && stride == kTwo && padding == kZero && dilation == kOne && !ceil_mode;
  }
};

}  // namespace tandem
