// Depthwise convolution (conv2d_depthwise.h).
#include "tandem/core/cpu/conv/conv2d_depthwise.h"

#include <algorithm>
#include <utility>

#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTaskWork = 1 << 16;  // minimum multiplications per task
constexpr int kMaxTaps = 9;             // of the weight gradient, summed at once

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

// sums[kTaps] += dy times the input shifted by each tap.
template <class T, int kTaps>
void add_taps(const Padded<T>& in, const int64_t* offsets, const T* dy, int64_t out_h, int64_t out_w, Vec<T>* sums) {
  constexpr int64_t kWidth = kLanes<T>;
  Vec<T> sum[kTaps] = {}, lane;
  for (int i = 0; i < kWidth; ++i) lane[i] = static_cast<T>(i);
  for (int64_t p = 0; p < out_h; ++p, dy += out_w) {
    const T* row = in.row(p);
    int64_t q = 0;
    for (; q + kWidth <= out_w; q += kWidth) {
      const Vec<T> gradient = load(dy + q);
#pragma GCC unroll 9
      for (int t = 0; t < kTaps; ++t) sum[t] += gradient * load(row + offsets[t] + q);
    }
    if (q == out_w) continue;
    T tail[kWidth] = {};
    std::copy(dy + q, dy + out_w, tail);
    const auto mask = lane < broadcast(static_cast<T>(out_w - q));
#pragma GCC unroll 9
    for (int t = 0; t < kTaps; ++t) {  // elements past the row may be NaN
      const Vec<T> value = load(row + offsets[t] + q);
      sum[t] += load(tail) * (mask ? value : Vec<T>{});
    }
  }
  for (int t = 0; t < kTaps; ++t) sums[t] += sum[t];
}

template <class T, int... kTaps>
auto pick_add(int64_t taps, std::integer_sequence<int, kTaps...>) {
  using Add = void (*)(const Padded<T>&, const int64_t*, const T*, int64_t, int64_t, Vec<T>*);
  static constexpr Add functions[] = {add_taps<T, kTaps + 1>...};
  return functions[taps - 1];
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

bool depthwise_applies(const Conv2dShape& s) { return s.group_in() == 1 && s.group_out() < 4; }

template <class T>
void depthwise_forward(const Conv2dShape& s, const T* x, const T* w, const T* bias, T* y) {
  convolve(s, x, bias, y, [&](int64_t channel, int64_t t) { return w[channel * s.kernel_size() + t]; });
}

bool depthwise_backward_applies(const Conv2dShape& s) { return s.group_in() == 1 && s.group_out() == 1 && s.turns(); }

template <class T>
void depthwise_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  convolve(s.turned(), dy, static_cast<const T*>(nullptr), dx,
           [&](int64_t channel, int64_t t) { return w[(channel + 1) * s.kernel_size() - 1 - t]; });
}

bool depthwise_weight_applies(const Conv2dShape& s) { return depthwise_applies(s) && s.p.stride[1] == 1; }

template <class T>
void depthwise_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw) {
  const int64_t taps = s.kernel_size(), plane = s.out_plane(), chunks = (taps + kMaxTaps - 1) / kMaxTaps;
  parallel_for(s.out_channels, 1, [&](int64_t begin, int64_t end) {
    Padded<T> in(s);
    auto* sums = scratch<Vec<T>>(Scratch::kConvOutput, taps);
    for (int64_t o = begin; o < end; ++o) {
      std::fill_n(sums, taps, Vec<T>{});
      for (int64_t n = 0; n < s.batch; ++n) {
        in.fill(x + (n * s.in_channels + o / s.group_out()) * s.in_plane());
        for (int64_t c = 0; c < chunks; ++c) {
          const int64_t first = taps * c / chunks, count = taps * (c + 1) / chunks - first;
          pick_add<T>(count, std::make_integer_sequence<int, kMaxTaps>{})(
              in, in.offsets + first, dy + (n * s.out_channels + o) * plane, s.out_h(), s.out_w(), sums + first);
        }
      }
      for (int64_t t = 0; t < taps; ++t) {
        T sum = 0;
        for (int lane = 0; lane < kLanes<T>; ++lane) sum += sums[t][lane];
        dw[o * taps + t] = sum;
      }
    }
  });
}

template void depthwise_forward<float>(const Conv2dShape&, const float*, const float*, const float*, float*);
template void depthwise_forward<double>(const Conv2dShape&, const double*, const double*, const double*, double*);
template void depthwise_backward_input<float>(const Conv2dShape&, const float*, const float*, float*);
template void depthwise_backward_input<double>(const Conv2dShape&, const double*, const double*, double*);
template void depthwise_backward_weight<float>(const Conv2dShape&, const float*, const float*, float*);
template void depthwise_backward_weight<double>(const Conv2dShape&, const double*, const double*, double*);

}  // namespace tandem::cpu
