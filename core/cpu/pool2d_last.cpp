// Pooling of channels-last tensors: vectors are channels. Sums have the same order as in planes.
#include <cmath>

#include "tandem/core/cpu/pool2d_windows.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

template <class V, class T>
V load_as(const T* from) {
  if constexpr (std::is_same_v<V, T>)
    return *from;
  else
    return load(from);
}
template <class V, class T>
void store_as(T* to, V value) {
  if constexpr (std::is_same_v<V, T>)
    *to = value;
  else
    store(to, value);
}

// Calls body<V>(x, y) for each output with the first of some channels: x of the image, y of the output.
template <class T, class Body>
void for_outputs(int64_t batch, int64_t channels, int64_t in_plane, int64_t out_h, int64_t out_w, const T* x, T* y,
                 const Body& body) {
  parallel_for(batch * out_h, plane_grain(out_w * channels), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t q = 0; q < out_w; ++q) {
        const T* from = x + i / out_h * in_plane * channels;
        T* to = y + (i * out_w + q) * channels;
        if (channels < kLanes<T>)
          for (int64_t c = 0; c < channels; ++c) body.template operator()<T>(i % out_h, q, from + c, to + c);
        else
          for (int64_t c = 0; c < channels; c += kLanes<T>) {
            const int64_t at = std::min<int64_t>(c, channels - kLanes<T>);
            body.template operator()<Vec<T>>(i % out_h, q, from + at, to + at);
          }
      }
  });
}

// run_sum() of n adjacent positions.
template <class V, class T>
V run_sum_last(const T* x, int64_t n, int64_t channels) {
  constexpr int64_t kSums = 2 * Wide<T>::kCount;
  V sums[kSums] = {}, rest{};
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int64_t k = 0; k < kSums; ++k) sums[k] += load_as<V>(x + (i + k) * channels);
  for (; i < n; ++i) rest += load_as<V>(x + i * channels);
  for (int64_t half = kSums / 2; half > 0; half /= 2)
    for (int64_t k = 0; k < half; ++k) sums[k] += sums[k + half];
  return rest + sums[0];
}

template <class V, class T>
V window_sum_last(const T* x, int64_t in_w, int64_t channels, const Window& h, const Window& w) {
  V sum{};
  if (w.begin == 0 && w.end == in_w) {
    for (int64_t i = h.begin * in_w; i < h.end * in_w; i += kMaxRun)
      sum += run_sum_last<V>(x + i * channels, std::min(kMaxRun, h.end * in_w - i), channels);
    return sum;
  }
  for (int64_t i = h.begin; i < h.end; ++i)
    for (int64_t j = w.begin; j < w.end; ++j) sum += load_as<V>(x + (i * in_w + j) * channels);
  return sum;
}

}  // namespace

template <class T>
void average_last(const Pool2dShape& s, const T* x, T* y) {
  const bool halves = s.p.halves();
  const T scale = T(1) / static_cast<T>(s.p.divisor_override != 0 ? s.p.divisor_override : 4);
  for_outputs(s.planes / s.channels, s.channels, s.in_h * s.in_w, s.out_h(), s.out_w(), x, y,
              [&]<class V>(int64_t p, int64_t q, const T* from, T* to) {
                if (halves) {
                  const T *top = from + (2 * p * s.in_w + 2 * q) * s.channels, *bottom = top + s.in_w * s.channels;
                  const V sum = (load_as<V>(top) + load_as<V>(top + s.channels)) +
                                (load_as<V>(bottom) + load_as<V>(bottom + s.channels));
                  return store_as<V>(to, sum * scale);
                }
                const Window h = window(s.p, 0, p, s.in_h), w = window(s.p, 1, q, s.in_w);
                store_as<V>(to, window_sum_last<V>(from, s.in_w, s.channels, h, w) / static_cast<T>(divisor(s, h, w)));
              });
}

template <class T>
void adaptive_average_last(const AdaptivePool2dShape& s, const T* x, T* y) {
  for_outputs(s.planes / s.channels, s.channels, s.in_h * s.in_w, s.out_h, s.out_w, x, y,
              [&]<class V>(int64_t p, int64_t q, const T* from, T* to) {
                const Window h = adaptive_window(p, s.in_h, s.out_h), w = adaptive_window(q, s.in_w, s.out_w);
                const V sum = window_sum_last<V>(from, s.in_w, s.channels, h, w);
                store_as<V>(to, sum / static_cast<T>(h.padded * w.padded));
              });
}

template <class T>
void maximum_last(const Pool2dShape& s, const T* x, T* y) {
  const int64_t dilation_h = s.p.dilation[0], dilation_w = s.p.dilation[1];
  // Columns first, as in planes, which decides between 0 and -0.
  const bool columns_first = s.p.stride[1] <= 2 && !s.p.halves();
  for_outputs(s.planes / s.channels, s.channels, s.in_h * s.in_w, s.out_h(), s.out_w(), x, y,
              [&]<class V>(int64_t p, int64_t q, const T* from, T* to) {
                const Window h = dilated_window(s.p, 0, p, s.in_h), w = dilated_window(s.p, 1, q, s.in_w);
                const auto larger = [&](V best, V value) {
                  best = value > best ? value : best;
                  return value != value ? value : best;
                };
                const V lowest = V{} + static_cast<T>(-INFINITY);
                V best = lowest;
                if (columns_first) {
                  for (int64_t j = w.begin; j < w.end; j += dilation_w) {
                    V column = lowest;
                    for (int64_t i = h.begin; i < h.end; i += dilation_h)
                      column = larger(column, load_as<V>(from + (i * s.in_w + j) * s.channels));
                    best = larger(best, column);
                  }
                } else {
                  for (int64_t i = h.begin; i < h.end; i += dilation_h)
                    for (int64_t j = w.begin; j < w.end; j += dilation_w)
                      best = larger(best, load_as<V>(from + (i * s.in_w + j) * s.channels));
                }
                store_as<V>(to, best);
              });
}

#define TANDEM_INSTANTIATE(T)                                                       \
  template void average_last<T>(const Pool2dShape&, const T*, T*);                  \
  template void adaptive_average_last<T>(const AdaptivePool2dShape&, const T*, T*); \
  template void maximum_last<T>(const Pool2dShape&, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
