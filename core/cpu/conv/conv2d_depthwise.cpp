// Convolution with one input channel per group (depthwise): multiplies shifted rows by the taps. Only the padding
// requires packing.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTaskWork = 1 << 16;  // minimum multiplications per task

// A padded plane with a spare vector at its end, and the offsets of the taps of output position 0 in it.
template <class T>
struct Padded {
  const Conv2dShape& s;
  int64_t width = s.padded_w(), height = s.padded_h();
  T* data = scratch<T>(Scratch::kConvInput, width* height + 2 * kLanes<T>);
  int64_t* offsets = scratch<int64_t>(Scratch::kConvColumns, s.kernel_size());

  explicit Padded(const Conv2dShape& shape) : s(shape) {
    std::fill_n(data, width * height + 2 * kLanes<T>, T(0));
    const auto [dilation_h, dilation_w] = s.p.dilation;
    for (int64_t t = 0; t < s.kernel_size(); ++t)
      offsets[t] = t / s.kernel_w * dilation_h * width + t % s.kernel_w * dilation_w;
  }
  void fill(const T* x) {
    const auto [pad_h, pad_w] = s.p.padding;
    for (int64_t h = 0; h < s.in_h; ++h, x += s.in_w) std::copy_n(x, s.in_w, data + (h + pad_h) * width + pad_w);
  }
  const T* row(int64_t p) const { return data + p * s.p.stride[0] * width; }
};

// Computes one output row; may write up to one vector past its end.
template <class T>
void make_row(const Padded<T>& in, int64_t p, const T* w, T bias, int64_t out_w, T* y) {
  const int64_t taps = in.s.kernel_size(), stride = in.s.p.stride[1];
  const T* row = in.row(p);
  if (stride == 1) {
    for (int64_t q = 0; q < out_w; q += kLanes<T>) {
      Vec<T> sum = broadcast(bias);
      for (int64_t t = 0; t < taps; ++t) sum += w[t] * load(row + in.offsets[t] + q);
      store(y + q, sum);
    }
    return;
  }
  std::fill_n(y, out_w, bias);
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t q = 0; q < out_w; ++q) y[q] += w[t] * row[in.offsets[t] + q * stride];
}

// `weight(output channel, tap)` returns the weights.
template <class T, class F>
void convolve(const Conv2dShape& s, const T* x, const T* bias, T* y, F weight) {
  const int64_t taps = s.kernel_size(), out_h = s.out_h(), out_w = s.out_w(), plane = out_h * out_w;
  const int64_t grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, plane * taps));
  parallel_for(s.batch * s.in_channels, grain, [&](int64_t begin, int64_t end) {
    Padded<T> in(s);
    T* out = scratch<T>(Scratch::kConvOutput, plane + kLanes<T>);
    T* w = scratch<T>(Scratch::kGemmTile, taps);
    for (int64_t i = begin; i < end; ++i) {
      in.fill(x + i * s.in_plane());
      for (int64_t o = 0; o < s.group_out(); ++o) {
        const int64_t channel = i % s.in_channels * s.group_out() + o;
        for (int64_t t = 0; t < taps; ++t) w[t] = weight(channel, t);
        for (int64_t p = 0; p < out_h; ++p) make_row(in, p, w, bias ? bias[channel] : T(0), out_w, out + p * out_w);
        std::copy_n(out, plane, y + (i * s.group_out() + o) * plane);
      }
    }
  });
}

}  // namespace

template <class T>
void depthwise_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  convolve(s, x, e.bias, y, [&](int64_t channel, int64_t t) { return w.data[channel * s.kernel_size() + t]; });
}

template <class T>
void depthwise_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  convolve(s.turned(), dy, static_cast<const T*>(nullptr), dx,
           [&](int64_t channel, int64_t t) { return w[(channel + 1) * s.kernel_size() - 1 - t]; });
}

#define TANDEM_INSTANTIATE(T)                                                                                     \
  template void depthwise_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void depthwise_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
