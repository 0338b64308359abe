// Convolution with one input channel per group (depthwise): multiplies shifted rows by the taps. Only the padding
// requires packing. Of channels-last tensors vectors are channels, and nothing is packed.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>
#include <utility>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

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

// `weight(output channel, tap)` returns the weights.
template <class T, class F>
void convolve(const Conv2dShape& s, const T* x, const Epilogue<T>& e, T* y, F weight) {
  constexpr int kRows = 4;
  const int64_t taps = s.kernel_size(), out_h = s.out_h(), out_w = s.out_w(), plane = out_h * out_w;
  const int64_t grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, plane * taps));
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
          for (int64_t p = 0; p < out_h; p += kRows) run(make_rows<T, kRows>, std::min(p, out_h - kRows));
        if (e.residual) finish(e, y, out - y, plane);
      }
    }
  });
}

// Channels-last images.
template <class T>
struct LastRow {
  const Conv2dShape& s;
  const T* x;  // of the image
  const T* w;  // [tap][channel]
  const T *bias, *residual;
  FusedActivation activation;
  T* y;       // like residual: of the image
  int64_t p;  // the output row
};

// kCount adjacent outputs, from column q on, in the channels of one vector. At the edges some see the padding.
template <class T, int kCount, bool kEdges>
void make_outputs(const LastRow<T>& row, int64_t q, int64_t channel) {
  const Conv2dShape& s = row.s;
  const int64_t stride = s.p.stride[1], step = stride * s.in_channels, left = q * stride - s.p.padding[1];
  Vec<T> sums[kCount];
  for (int i = 0; i < kCount; ++i) sums[i] = load(row.bias + channel);
  for (int64_t r = 0; r < s.kernel_h; ++r) {
    const int64_t h = row.p * s.p.stride[0] - s.p.padding[0] + r * s.p.dilation[0];
    if (h < 0 || h >= s.in_h) continue;
    const T* w = row.w + r * s.kernel_w * s.in_channels + channel;
    const T* line = row.x + (h * s.in_w + left) * s.in_channels + channel;
    for (int64_t t = 0, at = left; t < s.kernel_w; ++t, at += s.p.dilation[1], w += s.in_channels) {
      const Vec<T> tap = load(w);
      const T* from = line + (at - left) * s.in_channels;
      if (!kEdges || (at >= 0 && at + (kCount - 1) * stride < s.in_w)) {
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i) sums[i] = fma(tap, load(from + i * step), sums[i]);
      } else {
#pragma GCC unroll 8
        for (int i = 0; i < kCount; ++i)
          if (at + i * stride >= 0 && at + i * stride < s.in_w) sums[i] = fma(tap, load(from + i * step), sums[i]);
      }
    }
  }
  const int64_t to = (row.p * s.out_w() + q) * s.in_channels + channel;
  for (int i = 0; i < kCount; ++i) {
    if (row.residual != nullptr) sums[i] += load(row.residual + to + i * s.in_channels);
    store(row.y + to + i * s.in_channels, activated(sums[i], row.activation));
  }
}

template <class T>
using MakeOutputs = void (*)(const LastRow<T>&, int64_t q, int64_t channel);
template <class T, bool kEdges, int... i>
MakeOutputs<T> pick_outputs(int64_t count, std::integer_sequence<int, i...>) {
  static constexpr MakeOutputs<T> makes[] = {make_outputs<T, i + 1, kEdges>...};
  return makes[count - 1];
}

// `taps` are [tap][channel].
template <class T>
void convolve_last(const Conv2dShape& s, const T* x, const T* taps, const Epilogue<T>& e, T* y) {
  constexpr int kMost = 8;
  constexpr auto kCounts = std::make_integer_sequence<int, kMost>{};
  const int64_t channels = s.in_channels, out_h = s.out_h(), out_w = s.out_w(), stride = s.p.stride[1],
                reach = (s.kernel_w - 1) * s.p.dilation[1];
  const Workspace<T> zeros(e.bias != nullptr ? 0 : channels);
  if (e.bias == nullptr) std::fill_n(zeros.data(), channels, T(0));
  const int64_t grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, out_w * s.kernel_size() * channels));
  parallel_for_each(s.batch * out_h, grain, [&](int64_t i) {
    const int64_t image = i / out_h, at = image * out_h * out_w * channels;
    const LastRow<T> row{s,
                         x + image * s.in_plane() * channels,
                         taps,
                         e.bias != nullptr ? e.bias : zeros.data(),
                         e.residual ? e.residual + at : nullptr,
                         e.activation,
                         y + at,
                         i % out_h};
    for (int64_t q = 0, left = ceil_div(out_w, kMost), count; q < out_w; q += count, --left) {
      count = ceil_div(out_w - q, left);
      const int64_t first = q * stride - s.p.padding[1];
      const bool edges = first < 0 || first + (count - 1) * stride + reach >= s.in_w;
      const auto make = edges ? pick_outputs<T, true>(count, kCounts) : pick_outputs<T, false>(count, kCounts);
      for_vectors<T>(channels, [&](int64_t c) { make(row, q, c); });
    }
  });
}

}  // namespace

template <class T>
void depthwise_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const int64_t taps = s.kernel_size(), channels = s.out_channels;
  if (!s.channels_last)
    return convolve(s, x, e, y, [&](int64_t channel, int64_t t) { return w.data[channel * taps + t]; });
  const auto pack = [&](T* to) { transpose_exactly(channels, taps, w.data, taps, to, channels); };
  constexpr int64_t kLayout = 1;  // no other method's, which have a number of rows
  const auto kept = w.kept == nullptr
                        ? nullptr
                        : w.kept->get(*w.tensor, kLayout, static_cast<std::size_t>(taps * channels) * sizeof(T),
                                      [&](void* to) { pack(static_cast<T*>(to)); });
  const Workspace<T> memory(kept ? 0 : taps * channels);
  if (!kept) pack(memory.data());
  convolve_last(s, x, kept ? static_cast<const T*>(kept.get()) : memory.data(), e, y);
}

template <class T>
void depthwise_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  const int64_t taps = s.kernel_size(), channels = s.in_channels;
  const auto turned = [&](int64_t channel, int64_t t) { return w[(channel + 1) * taps - 1 - t]; };
  if (!s.channels_last) return convolve(s.turned(), dy, Epilogue<T>{}, dx, turned);
  const Workspace<T> memory(taps * channels);
  for (int64_t t = 0; t < taps; ++t)
    for (int64_t c = 0; c < channels; ++c) memory.data()[t * channels + c] = turned(c, t);
  convolve_last(s.turned(), dy, memory.data(), Epilogue<T>{}, dx);
}

#define TANDEM_INSTANTIATE(T)                                                                                     \
  template void depthwise_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void depthwise_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
