// Pooling, plane by plane. The forward pass gathers each window. The gradient of an average is also gathered
// if windows do not overlap (each input is written once), and scattered otherwise.
#include "tandem/core/cpu/pool2d.h"

#include <algorithm>
#include <cmath>
#include <type_traits>
#include <utility>

#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/cpu/pool2d_windows.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {

namespace {

// The sum of a window of a plane.
template <class T>
T window_sum(const T* x, int64_t in_w, const Window& h, const Window& w) {
  T sum = 0;
  if (w.begin == 0 && w.end == in_w) {
    for (int64_t i = h.begin * in_w; i < h.end * in_w; i += kMaxRun)
      sum += run_sum(x + i, std::min(kMaxRun, h.end * in_w - i));
    return sum;
  }
  for (int64_t i = h.begin; i < h.end; ++i)
    for (int64_t j = w.begin; j < w.end; ++j) sum += x[i * in_w + j];
  return sum;
}

template <class T>
void average_halves(const Pool2dShape& s, int64_t oh, int64_t ow, const T* x, T* y) {
  const T scale = T(1) / static_cast<T>(s.p.divisor_override != 0 ? s.p.divisor_override : 4);
  for (int64_t p = 0; p < oh; ++p, y += ow) {
    const T *top = x + 2 * p * s.in_w, *bottom = top + s.in_w;
    for (int64_t q = 0; q < ow; ++q)
      y[q] = ((top[2 * q] + top[2 * q + 1]) + (bottom[2 * q] + bottom[2 * q + 1])) * scale;
  }
}

template <class T>
void spread_halves(const Pool2dShape& s, int64_t oh, int64_t ow, const T* dy, T* dx) {
  const T scale = T(1) / static_cast<T>(s.p.divisor_override != 0 ? s.p.divisor_override : 4);
  for (int64_t p = 0; p < oh; ++p, dy += ow) {
    T *top = dx + 2 * p * s.in_w, *bottom = top + s.in_w;
    for (int64_t q = 0; q < ow; ++q) {
      const T value = dy[q] * scale;
      top[2 * q] = value;
      top[2 * q + 1] = value;
      bottom[2 * q] = value;
      bottom[2 * q + 1] = value;
    }
    for (int64_t q = 2 * ow; q < s.in_w; ++q) top[q] = bottom[q] = 0;
  }
  std::fill(dx + 2 * oh * s.in_w, dx + s.in_h * s.in_w, T(0));
}

template <class T>
void average_plane(const Pool2dShape& s, int64_t oh, int64_t ow, const T* x, T* y) {
  for (int64_t p = 0; p < oh; ++p) {
    const Window h = window(s.p, 0, p, s.in_h);
    for (int64_t q = 0; q < ow; ++q) {
      const Window w = window(s.p, 1, q, s.in_w);
      *y++ = window_sum(x, s.in_w, h, w) / static_cast<T>(divisor(s, h, w));
    }
  }
}

template <class T>
void spread_plane(const Pool2dShape& s, int64_t oh, int64_t ow, const T* dy, T* dx) {
  std::fill_n(dx, s.in_h * s.in_w, T(0));
  for (int64_t p = 0; p < oh; ++p) {
    const Window h = window(s.p, 0, p, s.in_h);
    for (int64_t q = 0; q < ow; ++q, ++dy) {
      const Window w = window(s.p, 1, q, s.in_w);
      const T value = *dy / static_cast<T>(divisor(s, h, w));
      for (int64_t i = h.begin; i < h.end; ++i)
        for (int64_t j = w.begin; j < w.end; ++j) dx[i * s.in_w + j] += value;
    }
  }
}

// The maximum of each 2 x 2 window; branchless, so that it vectorises.
template <class T>
void maximum_halves(const Pool2dShape& s, const T* x, T* y) {
  const int64_t oh = s.out_h(), ow = s.out_w();
  for (int64_t p = 0; p < oh; ++p, y += ow) {
    const T *top = x + 2 * p * s.in_w, *bottom = top + s.in_w;
    const auto take = [](T value, T best) { return (value > best) | (value != value); };
    for (int64_t q = 0; q < ow; ++q) {
      T best = top[2 * q];
      best = take(top[2 * q + 1], best) ? top[2 * q + 1] : best;
      best = take(bottom[2 * q], best) ? bottom[2 * q] : best;
      y[q] = take(bottom[2 * q + 1], best) ? bottom[2 * q + 1] : best;
    }
  }
}

// As wide as T, so that both are in vectors of as many lanes.
template <class T>
using IndexOf = std::conditional_t<sizeof(T) == 4, int32_t, int64_t>;

template <class T, int kStride, std::size_t... i>
Vec<T> load_strided(const T* from, std::index_sequence<i...>) {
  if constexpr (kStride == 1)
    return load(from);
  else
    return __builtin_shufflevector(load(from), load(from + kLanes<T>), static_cast<int>(i * kStride)...);
}

// The maxima of one row of windows, a vector of outputs at a time. Rows are copied with -inf in the padding, which is
// never larger than what was found before, and with room for whole vectors behind.
template <class T, int kStride>
struct MaximumRows {
  using Index = IndexOf<T>;
  static constexpr int64_t kWidth = kLanes<T>;

  const Pool2dShape& s;
  int64_t oh, ow, padded_w;
  T* rows;                  // [in_h][padded_w] of one plane; without indices only one row
  Index* column = nullptr;  // [ow and a vector]: the first column inside the window of an output; with indices

  static int64_t whole_vectors(int64_t outputs) { return ceil_div(outputs, kWidth) * kWidth; }
  static int64_t padded_width(const Pool2dShape& s) {
    return std::max(s.in_w + 2 * s.p.padding[1],
                    (whole_vectors(s.out_w()) - 1) * kStride + (s.p.kernel[1] - 1) * s.p.dilation[1] + 2 * kWidth);
  }
  /// Whether the copy of a plane stays in the cache.
  static bool applies(const Pool2dShape& s) {
    return s.in_h * padded_width(s) * static_cast<int64_t>(sizeof(T)) <= 1 << 20;
  }

  MaximumRows(const Pool2dShape& shape, bool with_indices) : s(shape), oh(s.out_h()), ow(s.out_w()) {
    padded_w = padded_width(s);
    const int64_t size = (with_indices ? s.in_h : 1) * padded_w;
    rows = scratch<T>(Scratch::kConvInput, size);
    std::fill_n(rows, size, static_cast<T>(-INFINITY));
    if (!with_indices) return;
    const int64_t outputs = whole_vectors(ow);
    column = scratch<Index>(Scratch::kConvColumns, outputs);
    for (int64_t q = 0; q < outputs; ++q)
      column[q] = static_cast<Index>(std::min(first_inside(q * kStride - s.p.padding[1], s.p.dilation[1]), s.in_w - 1));
  }

  /// Without indices: the maxima of the columns first, in rows[0], then those of the windows.
  void plane_values(const T* x, T* y) {
    T* line = rows + s.p.padding[1];
    for (int64_t p = 0; p < oh; ++p, y += ow) {
      const int64_t h0 = p * s.p.stride[0] - s.p.padding[0], top = first_inside(h0, s.p.dilation[0]);
      const int64_t bottom = std::min(h0 + (s.p.kernel[0] - 1) * s.p.dilation[0] + 1, s.in_h);
      if (s.in_w >= kWidth)
        for (int64_t j = 0; j < s.in_w; j += kWidth) {
          const int64_t at = std::min(j, s.in_w - kWidth);
          store(line + at, column_maxima(top, bottom, [&](int64_t h) { return load(x + h * s.in_w + at); }));
        }
      else
        for (int64_t j = 0; j < s.in_w; ++j)
          line[j] = column_maxima(top, bottom, [&](int64_t h) { return x[h * s.in_w + j]; });
      const int64_t room = (oh - p) * ow;
      s.p.kernel[1] == 3   ? row_maxima<3>(room, y)
      : s.p.kernel[1] == 2 ? row_maxima<2>(room, y)
                           : row_maxima<0>(room, y);
    }
  }

  // The maximum of value(h), T or Vec<T>, for the rows h of a window. A NaN is larger than any number.
  template <class F>
  auto column_maxima(int64_t top, int64_t bottom, F value) const {
    auto best = decltype(value(top)){} + static_cast<T>(-INFINITY);
    for (int64_t h = top; h < bottom; h += s.p.dilation[0]) {
      const auto next = value(h);
      best = next > best ? next : best;
      best = next != next ? next : best;
    }
    return best;
  }

  // The maxima of one row of windows. May write to the rest of the `room` elements, which are written later.
  template <int kTaps>
  void row_maxima(int64_t room, T* y) const {
    const int64_t taps = kTaps != 0 ? kTaps : s.p.kernel[1];
    constexpr auto kAll = std::make_index_sequence<kLanes<T>>{};
    for (int64_t q = 0; q < ow; q += kWidth) {
      const T* from = rows + q * kStride;
      Vec<T> best = load_strided<T, kStride>(from, kAll);
#pragma GCC unroll 3
      for (int64_t k = 1; k < taps; ++k) {
        const Vec<T> value = load_strided<T, kStride>(from + k * s.p.dilation[1], kAll);
        best = value > best ? value : best;
        best = value != value ? value : best;
      }
      store_outputs(best, room - q, y + q);
    }
  }

  void plane(const T* x, T* y, int64_t* indices) {
    if (indices == nullptr) return plane_values(x, y);
    for (int64_t h = 0; h < s.in_h; ++h) std::copy_n(x + h * s.in_w, s.in_w, rows + h * padded_w + s.p.padding[1]);
    for (int64_t p = 0; p < oh; ++p) {
      const int64_t h0 = p * s.p.stride[0] - s.p.padding[0], top = first_inside(h0, s.p.dilation[0]);
      for (int64_t q = 0; q < ow; q += kWidth) block(h0, top, q, y + p * ow + q, indices + p * ow + q);
    }
  }

  void block(int64_t h0, int64_t top, int64_t q, T* y, int64_t* indices) {
    const int64_t bottom = std::min(h0 + (s.p.kernel[0] - 1) * s.p.dilation[0] + 1, s.in_h);
    Vec<T> best = broadcast<T>(static_cast<T>(-INFINITY));
    // If no element is larger than -inf, the position is that of the first.
    Vec<Index> place = load(column + q) + static_cast<Index>(std::min(top, s.in_h - 1) * s.in_w);
    Vec<Index> step;
    for (int64_t i = 0; i < kWidth; ++i) step[i] = static_cast<Index>(i * kStride);
    for (int64_t h = top; h < bottom; h += s.p.dilation[0]) {
      const T* from = rows + h * padded_w + q * kStride;
      for (int64_t k = 0; k < s.p.kernel[1]; ++k) {
        const int64_t shift = k * s.p.dilation[1];
        const Vec<T> value = load_strided<T, kStride>(from + shift, std::make_index_sequence<kLanes<T>>{});
        const auto take = (value > best) | (value != value);
        best = take ? value : best;
        place = take ? step + static_cast<Index>(h * s.in_w + q * kStride + shift - s.p.padding[1]) : place;
      }
    }
    store_outputs(best, ow - q, y);
    for (int64_t i = 0; i < std::min(kWidth, ow - q); ++i) indices[i] = place[i];
  }

  static void store_outputs(Vec<T> values, int64_t count, T* y) {
    if (count >= kWidth) return store(y, values);
    for (int64_t i = 0; i < count; ++i) y[i] = values[i];
  }
};

// Any window. Columns first where MaximumRows would take them first, which decides between 0 and -0.
template <class T>
void maximum_plane(const Pool2dShape& s, const T* x, T* y, int64_t* indices) {
  const int64_t dilation_h = s.p.dilation[0], dilation_w = s.p.dilation[1];
  const bool columns_first = indices == nullptr && s.p.stride[1] <= 2;
  for (int64_t p = 0, oh = s.out_h(), ow = s.out_w(); p < oh; ++p) {
    const Window h = dilated_window(s.p, 0, p, s.in_h);
    for (int64_t q = 0; q < ow; ++q) {
      const Window w = dilated_window(s.p, 1, q, s.in_w);
      int64_t place = std::min(h.begin, s.in_h - 1) * s.in_w + std::min(w.begin, s.in_w - 1);
      T best = -INFINITY;
      const auto consider = [&](int64_t i, int64_t j) {
        const T value = x[i * s.in_w + j];
        const bool take = (value > best) | (value != value);
        best = take ? value : best;
        place = take ? i * s.in_w + j : place;
      };
      if (columns_first) {
        for (int64_t j = w.begin; j < w.end; j += dilation_w)
          for (int64_t i = h.begin; i < h.end; i += dilation_h) consider(i, j);
      } else {
        for (int64_t i = h.begin; i < h.end; i += dilation_h)
          for (int64_t j = w.begin; j < w.end; j += dilation_w) consider(i, j);
      }
      *y++ = best;
      if (indices) *indices++ = place;
    }
  }
}

template <class T, int kStride>
void maximum_rows(const Pool2dShape& s, int64_t begin, int64_t end, const T* x, T* y, int64_t* indices) {
  MaximumRows<T, kStride> rows(s, indices != nullptr);
  const int64_t in = s.in_h * s.in_w, out = rows.oh * rows.ow;
  for (int64_t i = begin; i < end; ++i) rows.plane(x + i * in, y + i * out, indices ? indices + i * out : nullptr);
}

// Planes [begin, end) of all.
template <class T>
void maximum_planes(const Pool2dShape& s, int64_t begin, int64_t end, const T* x, T* y, int64_t* indices) {
  const int64_t in = s.in_h * s.in_w, out = s.out_h() * s.out_w();
  if (s.p.stride[1] == 1 && MaximumRows<T, 1>::applies(s)) return maximum_rows<T, 1>(s, begin, end, x, y, indices);
  const bool halves = s.p.halves() && indices == nullptr;
  if (s.p.stride[1] == 2 && !halves && MaximumRows<T, 2>::applies(s))
    return maximum_rows<T, 2>(s, begin, end, x, y, indices);
  for (int64_t i = begin; i < end; ++i)
    halves ? maximum_halves(s, x + i * in, y + i * out)
           : maximum_plane(s, x + i * in, y + i * out, indices ? indices + i * out : nullptr);
}

// Calls f(position in the output plane, h window, w window) for all outputs of a plane.
template <class F>
void for_adaptive(const AdaptivePool2dShape& s, F f) {
  for (int64_t p = 0; p < s.out_h; ++p)
    for (int64_t q = 0; q < s.out_w; ++q)
      f(p * s.out_w + q, adaptive_window(p, s.in_h, s.out_h), adaptive_window(q, s.in_w, s.out_w));
}

}  // namespace

template <class T>
void avg_pool2d_forward(const Pool2dShape& s, const T* x, T* y) {
  if (s.channels != 0) return average_last(s, x, y);
  const int64_t in = s.in_h * s.in_w, oh = s.out_h(), ow = s.out_w(), out = oh * ow;
  const bool halves = s.p.halves();
  parallel_for_each(s.planes, plane_grain(in), [&](int64_t i) {
    halves ? average_halves(s, oh, ow, x + i * in, y + i * out) : average_plane(s, oh, ow, x + i * in, y + i * out);
  });
}

template <class T>
void avg_pool2d_backward(const Pool2dShape& s, const T* dy, T* dx) {
  const int64_t in = s.in_h * s.in_w, oh = s.out_h(), ow = s.out_w(), out = oh * ow;
  const auto plane = s.p.halves() ? spread_halves<T> : spread_plane<T>;
  parallel_for_each(s.planes, plane_grain(in), [&](int64_t i) { plane(s, oh, ow, dy + i * out, dx + i * in); });
}

template <class T>
void max_pool2d_forward(const Pool2dShape& s, const T* x, T* y, int64_t* indices) {
  if (s.channels != 0) return maximum_last(s, x, y);
  parallel_for(s.planes, plane_grain(s.in_h * s.in_w),
               [&](int64_t begin, int64_t end) { maximum_planes(s, begin, end, x, y, indices); });
}

template <class T>
void max_pool2d_backward(const Pool2dShape& s, const T* dy, const int64_t* indices, T* dx) {
  const int64_t in = s.in_h * s.in_w, out = s.out_h() * s.out_w();
  parallel_for_each(s.planes, plane_grain(in), [&](int64_t i) {
    std::fill_n(dx + i * in, in, T(0));
    for (int64_t j = i * out; j < (i + 1) * out; ++j) dx[i * in + indices[j]] += dy[j];
  });
}

template <class T>
void max_pool2d_gather(const Pool2dShape& s, const T* g, const int64_t* indices, T* result) {
  const int64_t in = s.in_h * s.in_w, out = s.out_h() * s.out_w();
  parallel_for_each(s.planes, plane_grain(in), [&](int64_t i) {
    for (int64_t j = i * out; j < (i + 1) * out; ++j) result[j] = g[i * in + indices[j]];
  });
}

template <class T>
void adaptive_avg_pool2d_forward(const AdaptivePool2dShape& s, const T* x, T* y) {
  if (s.channels != 0) return adaptive_average_last(s, x, y);
  const int64_t in = s.in_h * s.in_w, out = s.out_h * s.out_w;
  parallel_for_each(s.planes, plane_grain(in), [&](int64_t plane) {
    for_adaptive(s, [&](int64_t place, const Window& h, const Window& w) {
      y[plane * out + place] = window_sum(x + plane * in, s.in_w, h, w) / static_cast<T>(h.padded * w.padded);
    });
  });
}

template <class T>
void adaptive_avg_pool2d_backward(const AdaptivePool2dShape& s, const T* dy, T* dx) {
  const int64_t in = s.in_h * s.in_w, out = s.out_h * s.out_w;
  parallel_for(s.planes, plane_grain(in), [&](int64_t begin, int64_t end) {
    std::fill(dx + begin * in, dx + end * in, T(0));
    for (int64_t plane = begin; plane < end; ++plane)
      for_adaptive(s, [&](int64_t place, const Window& h, const Window& w) {
        const T value = dy[plane * out + place] / static_cast<T>(h.padded * w.padded);
        for (int64_t i = h.begin; i < h.end; ++i)
          for (int64_t j = w.begin; j < w.end; ++j) dx[plane * in + i * s.in_w + j] += value;
      });
  });
}

#define TANDEM_INSTANTIATE(T)                                                             \
  template void avg_pool2d_forward<T>(const Pool2dShape&, const T*, T*);                  \
  template void avg_pool2d_backward<T>(const Pool2dShape&, const T*, T*);                 \
  template void max_pool2d_forward<T>(const Pool2dShape&, const T*, T*, int64_t*);        \
  template void max_pool2d_backward<T>(const Pool2dShape&, const T*, const int64_t*, T*); \
  template void max_pool2d_gather<T>(const Pool2dShape&, const T*, const int64_t*, T*);   \
  template void adaptive_avg_pool2d_forward<T>(const AdaptivePool2dShape&, const T*, T*); \
  template void adaptive_avg_pool2d_backward<T>(const AdaptivePool2dShape&, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
