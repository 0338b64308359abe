// Convolution with one input channel per group (depthwise): multiplies shifted rows by the taps. Only the padding
// requires packing. Of channels-last tensors vectors are channels, and nothing is packed.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTaskWork = 1 << 16;  // minimum multiplications per task

// A padded plane with spare vectors at its end. A row is cut into `stride` pieces, its columns 0, stride, 2 stride … first,
// so that the inputs of one tap at adjacent outputs are adjacent.
template <class T>
struct Padded {
  const Conv2dShape& s;
  int64_t stride = s.p.stride[1], piece = ceil_div(s.padded_w(), stride), width = stride * piece;
  T* data = scratch<T>(Scratch::kConvInput, width* s.padded_h() + 2 * kLanes<T>);
  int64_t* offsets = scratch<int64_t>(Scratch::kConvColumns, s.kernel_size());  // of the taps of output position 0

  explicit Padded(const Conv2dShape& shape) : s(shape) {
    std::fill_n(data, width * s.padded_h() + 2 * kLanes<T>, T(0));
    for (int64_t t = 0; t < s.kernel_size(); ++t)
      offsets[t] = t / s.kernel_w * s.p.dilation[0] * width + place(t % s.kernel_w * s.p.dilation[1]);
  }
  int64_t place(int64_t column) const { return column % stride * piece + column / stride; }
  // May read up to `end`.
  void fill(const T* x, const T* end) {
    constexpr int64_t kWidth = kLanes<T>;
    Vec<T> lanes;
    for (int i = 0; i < kWidth; ++i) lanes[i] = static_cast<T>(i);
    const auto inside = lanes < static_cast<T>((s.in_w - 1) % kWidth + 1);  // of the last vector of a row
    const auto [pad_h, pad_w] = s.p.padding;
    for (int64_t h = 0; h < s.in_h; ++h, x += s.in_w) {
      T* row = data + (h + pad_h) * width;
      if (stride == 1) {
        int64_t j = 0;
        for (; j + kWidth < s.in_w; j += kWidth) store(row + pad_w + j, load(x + j));
        if (end - x >= j + kWidth)  // zeros behind the row, until the next one is written
          store(row + pad_w + j, inside ? load(x + j) : Vec<T>{});
        else
          std::copy(x + j, x + s.in_w, row + pad_w + j);
        continue;
      }
      for (int64_t first = 0; first < std::min(stride, s.in_w); ++first) {
        T* to = row + place(pad_w + first);
        if (stride == 2)
          for (int64_t j = 0; 2 * j < s.in_w - first; ++j) to[j] = x[2 * j + first];
        else
          for (int64_t j = 0; j * stride < s.in_w - first; ++j) to[j] = x[j * stride + first];
      }
    }
  }
  const T* row(int64_t p) const { return data + p * s.p.stride[0] * width; }
};

// Calls put(column) for the whole vectors of a row, and for a last one that overlaps the one before.
template <class T, class F>
void for_vectors(int64_t out_w, F put) {
  for (int64_t q = 0; q < out_w; q += kLanes<T>) put(out_w < kLanes<T> ? 0 : std::min(q, out_w - kLanes<T>));
}
// Stores outputs of rows, in ascending order: a vector may reach into the next row if the plane has `room` for it.
template <class T, int kRows>
void store_rows(const Vec<T>* sums, FusedActivation activation, int64_t out_w, int64_t room, T* y) {
  for (int r = 0; r < kRows; ++r, y += out_w, room -= out_w) {
    const Vec<T> value = activated(sums[r], activation);
    if (out_w >= kLanes<T> || room >= kLanes<T>)
      store(y, value);
    else
      for (int64_t i = 0; i < out_w; ++i) y[i] = value[i];
  }
}

// kRows output rows.
template <class T, int kRows>
void make_rows(const Padded<T>& in, int64_t p, const T* w, T bias, FusedActivation activation, int64_t out_w,
               int64_t room, T* y) {
  const int64_t taps = in.s.kernel_size(), step = in.s.p.stride[0] * in.width;
  const int64_t* offsets = in.offsets;
  const T* row = in.row(p);
  for_vectors<T>(out_w, [&](int64_t q) {
    Vec<T> sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = broadcast(bias);
    for (int64_t t = 0; t < taps; ++t)
      for (int r = 0; r < kRows; ++r) sums[r] = fma(w[t], load(row + r * step + offsets[t] + q), sums[r]);
    store_rows<T, kRows>(sums, activation, out_w, room, y + q);
  });
}

// The same with a kernel of 3 x 3 without dilation: each input row is loaded once, and the taps are added in their order.
template <class T, int kRows, int kStride>
void make_rows_of_nine(const Padded<T>& in, int64_t p, const T* w, T bias, FusedActivation activation, int64_t out_w,
                       int64_t room, T* y) {
  const T* top = in.row(p);
  const int64_t second = in.offsets[1], third = in.offsets[2], width = in.width;
  T taps[9];
  std::copy_n(w, 9, taps);
  for_vectors<T>(out_w, [&](int64_t q) {
    Vec<T> sums[kRows];
    for (int r = 0; r < kRows; ++r) sums[r] = broadcast(bias);
#pragma GCC unroll 16
    for (int i = 0; i < (kRows - 1) * kStride + 3; ++i) {
      const T* x = top + i * width + q;
      const Vec<T> a = load(x), b = load(x + second), c = load(x + third);
#pragma GCC unroll 16
      for (int r = 0; r < kRows; ++r) {
        const int tap = 3 * (i - r * kStride);
        if (tap < 0 || tap > 6) continue;
        sums[r] = fma(taps[tap], a, sums[r]);
        sums[r] = fma(taps[tap + 1], b, sums[r]);
        sums[r] = fma(taps[tap + 2], c, sums[r]);
      }
    }
    store_rows<T, kRows>(sums, activation, out_w, room, y + q);
  });
}

// `weight(output channel, tap)` returns the weights.
template <class T, class F>
void convolve(const Conv2dShape& s, const T* x, const Epilogue<T>& e, T* y, F weight) {
  constexpr int kRows = 4;
  const int64_t taps = s.kernel_size(), out_h = s.out_h(), out_w = s.out_w(), plane = out_h * out_w;
  const int64_t grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, plane * taps));
  const bool nine = s.kernel_h == 3 && s.kernel_w == 3 && s.p.dilation[0] == 1 && s.p.dilation[1] == 1;
  const auto rows = nine && s.p.stride[0] == 1   ? make_rows_of_nine<T, kRows, 1>
                    : nine && s.p.stride[0] == 2 ? make_rows_of_nine<T, kRows, 2>
                                                 : make_rows<T, kRows>;
  parallel_for(s.batch * s.in_channels, grain, [&](int64_t begin, int64_t end) {
    Padded<T> in(s);
    T* w = scratch<T>(Scratch::kGemmTile, taps);
    for (int64_t i = begin; i < end; ++i) {
      in.fill(x + i * s.in_plane(), x + s.batch * s.in_channels * s.in_plane());
      for (int64_t o = 0; o < s.group_out(); ++o) {
        const int64_t channel = i % s.in_channels * s.group_out() + o;
        const T bias = e.bias ? e.bias[channel] : T(0);
        T* out = y + (i * s.group_out() + o) * plane;
        for (int64_t t = 0; t < taps; ++t) w[t] = weight(channel, t);
        const auto run = [&](auto make, int64_t p) {
          make(in, p, w, bias, e.residual ? FusedActivation::kIdentity : e.activation, out_w, plane - p * out_w,
               out + p * out_w);
        };
        if (out_h < kRows)
          for (int64_t p = 0; p < out_h; ++p) run(make_rows<T, 1>, p);
        else  // the last rows may be computed twice
          for (int64_t p = 0; p < out_h; p += kRows) run(rows, std::min(p, out_h - kRows));
        if (e.residual) finish(e, y, out - y, plane);
      }
    }
  });
}

// The positions [begin, begin + count) of an output row of a channels-last image, in the channels of one vector.
template <class T>
struct LastRow {
  const Conv2dShape& s;
  const T* x;  // of the image
  const T* w;  // [tap][channels]
  const T *bias, *residual;
  FusedActivation activation;
  T* y;
  int64_t p;

  template <int kCount>
  void make(int64_t q, int64_t channel, int64_t first_tap, int64_t last_tap) const {
    const auto [stride_h, stride_w] = s.p.stride;
    const auto [dilation_h, dilation_w] = s.p.dilation;
    Vec<T> sums[kCount];
    for (int i = 0; i < kCount; ++i) sums[i] = load(bias + channel);
    for (int64_t r = 0; r < s.kernel_h; ++r) {
      const int64_t h = p * stride_h - s.p.padding[0] + r * dilation_h;
      if (h < 0 || h >= s.in_h) continue;
      const int64_t left = q * stride_w - s.p.padding[1];
      for (int64_t t = first_tap; t < last_tap; ++t) {
        const Vec<T> tap = load(w + (r * s.kernel_w + t) * s.in_channels + channel);
        const T* from = x + (h * s.in_w + left + t * dilation_w) * s.in_channels + channel;
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) sums[i] = fma(tap, load(from + i * stride_w * s.in_channels), sums[i]);
      }
    }
    const int64_t at = (p * s.out_w() + q) * s.in_channels + channel;
    for (int i = 0; i < kCount; ++i) {
      if (residual != nullptr) sums[i] += load(residual + at + i * s.in_channels);
      store(y + at + i * s.in_channels, activated(sums[i], activation));
    }
  }
};

// `weight(channel, tap)` returns the weights.
template <class T, class F>
void convolve_last(const Conv2dShape& s, const T* x, const Epilogue<T>& e, T* y, F weight) {
  constexpr int kCount = 8;
  const int64_t taps = s.kernel_size(), channels = s.in_channels, out_h = s.out_h(), out_w = s.out_w();
  const Workspace<T> memory((taps + 1) * channels);
  T *bias = memory.data(), *w = bias + channels;
  for (int64_t c = 0; c < channels; ++c) {
    bias[c] = e.bias != nullptr ? e.bias[c] : T(0);
    for (int64_t t = 0; t < taps; ++t) w[t * channels + c] = weight(c, t);
  }
  // The outputs that see all columns of the kernel.
  const int64_t inside_begin = std::min(out_w, ceil_div(s.p.padding[1], s.p.stride[1])),
                reach = s.in_w + s.p.padding[1] - (s.kernel_w - 1) * s.p.dilation[1],
                inside_end = std::clamp(reach <= 0 ? 0 : ceil_div(reach, s.p.stride[1]), inside_begin, out_w);
  const int64_t grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, out_w * taps * channels));
  parallel_for(s.batch * out_h, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / out_h, at = image * out_h * out_w * channels;
      const LastRow<T> row{s,
                           x + image * s.in_plane() * channels,
                           w,
                           bias,
                           e.residual ? e.residual + at : nullptr,
                           e.activation,
                           y + at,
                           i % out_h};
      for_vectors<T>(channels, [&](int64_t c) {
        const auto edge = [&](int64_t from, int64_t to) {
          for (int64_t q = from; q < to; ++q) {
            const int64_t left = q * s.p.stride[1] - s.p.padding[1], dilation = s.p.dilation[1];
            const int64_t first = left < 0 ? std::min(s.kernel_w, ceil_div(-left, dilation)) : 0,
                          last =
                              left >= s.in_w ? first : std::clamp(ceil_div(s.in_w - left, dilation), first, s.kernel_w);
            row.template make<1>(q, c, first, last);
          }
        };
        edge(0, inside_begin);
        int64_t q = inside_begin;
        for (; q + kCount <= inside_end; q += kCount) row.template make<kCount>(q, c, 0, s.kernel_w);
        for (; q + 4 <= inside_end; q += 4) row.template make<4>(q, c, 0, s.kernel_w);
        edge(q, out_w);
      });
    }
  });
}

}  // namespace

template <class T>
void depthwise_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const auto weight = [&](int64_t channel, int64_t t) { return w.data[channel * s.kernel_size() + t]; };
  s.channels_last ? convolve_last(s, x, e, y, weight) : convolve(s, x, e, y, weight);
}

template <class T>
void depthwise_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  const auto weight = [&](int64_t channel, int64_t t) { return w[(channel + 1) * s.kernel_size() - 1 - t]; };
  const Epilogue<T> none{};
  s.channels_last ? convolve_last(s.turned(), dy, none, dx, weight) : convolve(s.turned(), dy, none, dx, weight);
}

#define TANDEM_INSTANTIATE(T)                                                                                     \
  template void depthwise_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void depthwise_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
