// Chooses how a convolution is computed. Also contains the gradients that need whole columns (im2col) and the
// gradient of the bias.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_channels.h"
#include "tandem/core/cpu/conv/conv2d_columns.h"
#include "tandem/core/cpu/conv/conv2d_depthwise.h"
#include "tandem/core/cpu/conv/conv2d_direct.h"
#include "tandem/core/cpu/conv/conv2d_epilogue.h"
#include "tandem/core/cpu/conv/conv2d_lanes.h"
#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_pointwise.h"
#include "tandem/core/cpu/conv/conv2d_shallow.h"
#include "tandem/core/cpu/conv/conv2d_taps.h"
#include "tandem/core/cpu/conv/conv2d_weight.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

// columns[depth][out_plane] of one group of one image.
template <class T>
void to_columns(const Conv2dShape& s, const T* x, T* columns) {
  const auto [stride_h, stride_w] = s.p.stride;
  const auto [pad_h, pad_w] = s.p.padding;
  const auto [dilation_h, dilation_w] = s.p.dilation;
  const int64_t oh = s.out_h(), ow = s.out_w();
  for (int64_t c = 0; c < s.group_in(); ++c, x += s.in_plane()) {
    for (int64_t k = 0; k < s.kernel_size(); ++k) {
      const int64_t shift_h = k / s.kernel_w * dilation_h - pad_h, shift_w = k % s.kernel_w * dilation_w - pad_w;
      const PlaceRange rows = places_inside(shift_h, stride_h, s.in_h, oh),
                       cols = places_inside(shift_w, stride_w, s.in_w, ow);
      for (int64_t p = 0; p < oh; ++p, columns += ow) {
        if (p < rows.begin || p >= rows.end) {
          std::fill_n(columns, ow, T(0));
          continue;
        }
        const T* row = x + (p * stride_h + shift_h) * s.in_w + shift_w;
        std::fill_n(columns, cols.begin, T(0));
        for (int64_t q = cols.begin; q < cols.end; ++q) columns[q] = row[q * stride_w];
        std::fill(columns + cols.end, columns + ow, T(0));
      }
    }
  }
}

// Sum of one channel over the batch: per lane, then across lanes, then the remainder of each plane.
template <class T>
T sum_channel(const Conv2dShape& s, const T* dy) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t plane = s.out_plane();
  Vec<T> total{};
  T rest = 0;
  for (int64_t n = 0; n < s.batch; ++n, dy += s.out_channels * plane) {
    Vec<T> a{}, b{}, c{}, d{};
    int64_t i = 0;
    for (; i + 4 * kWidth <= plane; i += 4 * kWidth) {
      a += load(dy + i);
      b += load(dy + i + kWidth);
      c += load(dy + i + 2 * kWidth);
      d += load(dy + i + 3 * kWidth);
    }
    for (; i + kWidth <= plane; i += kWidth) a += load(dy + i);
    total += (a + b) + (c + d);
    for (; i < plane; ++i) rest += dy[i];
  }
  for (int lane = 0; lane < kWidth; ++lane) rest += total[lane];
  return rest;
}

// Gradient of the weights from whole columns; the fallback when no other method applies.
template <class T>
void columns_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw) {
  constexpr int64_t kParts = 8;
  const int64_t plane = s.out_plane(), depth = s.depth(), weights = s.out_channels * depth;
  const int64_t images = std::max<int64_t>(1, (s.batch + kParts - 1) / kParts), parts = (s.batch + images - 1) / images;
  const Workspace<T> memory(parts * weights);
  T* partial = memory.data();
  parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
    T* columns = scratch<T>(Scratch::kConvColumns, depth * plane);
    for (int64_t part = begin; part < end; ++part) {
      T* sum = partial + part * weights;
      std::fill_n(sum, weights, T(0));
      for (int64_t i = part * images * s.p.groups; i < std::min(s.batch, (part + 1) * images) * s.p.groups; ++i) {
        to_columns(s, x + i * s.group_in() * s.in_plane(), columns);
        gemm<T>({.m = s.group_out(),
                 .n = depth,
                 .k = plane,
                 .a = dy + i * s.group_out() * plane,
                 .lda = plane,
                 .b = columns,
                 .ldb = plane,
                 .trans_b = true,
                 .c = sum + i % s.p.groups * s.group_out() * depth,
                 .ldc = depth,
                 .beta = 1});
      }
    }
  });
  parallel_for(weights, 16384, [&](int64_t begin, int64_t end) {
    std::fill(dw + begin, dw + end, T(0));
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t i = begin; i < end; ++i) dw[i] += partial[part * weights + i];
  });
}

}  // namespace

template <class T>
void conv2d_forward(const Conv2dShape& s, const T* x, const T* w, const T* bias, T* y,
                    const Conv2dInference<T>& inference) {
  const auto finished = [&] {
    if (!inference.relu && inference.residual == nullptr) return;
    parallel_for(s.batch * s.out_channels * s.out_plane(), 16384,
                 [&](int64_t begin, int64_t end) { finish(inference, y, begin, end - begin); });
  };
  if (depthwise_applies(s)) return depthwise_forward(s, x, w, bias, y), finished();
  if (shallow_applies<T>(s)) return shallow_forward(s, x, w, bias, y), finished();
  if (pointwise_applies<T>(s)) return pointwise_forward(s, x, w, bias, y, inference);
  const bool few = channels_applies<T>(s);
  if (!few && lanes_applies<T>(s)) return lanes_forward(s, x, w, bias, y), finished();
  if (direct_applies<T>(s)) return direct_forward(s, x, w, bias, y, inference);
  if (few) return channels_forward(s, x, w, bias, y, inference);
  columns_forward(s, x, w, bias, y, inference);
}

template <class T>
void conv2d_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  if (depthwise_backward_applies(s)) return depthwise_backward_input(s, dy, w, dx);
  if (pointwise_applies<T>(s)) return pointwise_backward_input(s, dy, w, dx);
  const bool few = channels_backward_applies<T>(s);
  if (!few && lanes_applies<T>(s)) return lanes_backward_input(s, dy, w, dx);
  if (direct_backward_applies<T>(s)) return direct_backward_input(s, dy, w, dx);
  if (few) return channels_backward_input(s, dy, w, dx);
  if (s.turns_well()) return columns_backward_input(s, dy, w, dx);
  const int64_t plane = s.out_plane(), depth = s.depth();
  parallel_for(s.batch * s.p.groups, 1, [&](int64_t begin, int64_t end) {
    T* columns = scratch<T>(Scratch::kConvColumns, depth * plane);
    for (int64_t i = begin; i < end; ++i) {
      T* out = dx + i * s.group_in() * s.in_plane();
      std::fill_n(out, s.group_in() * s.in_plane(), T(0));
      gemm<T>({.m = depth,
               .n = plane,
               .k = s.group_out(),
               .a = w + i % s.p.groups * s.group_out() * depth,
               .lda = depth,
               .trans_a = true,
               .b = dy + i * s.group_out() * plane,
               .ldb = plane,
               .c = columns,
               .ldc = plane});
      for (int64_t k = 0; k < depth; ++k)
        add_column(s, k % s.kernel_size(), columns + k * plane, out + k / s.kernel_size() * s.in_plane());
    }
  });
}

template <class T>
void conv2d_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw, T* db) {
  if (shallow_applies<T>(s)) return shallow_backward_weight(s, x, dy, dw, db);
  if (depthwise_weight_applies(s))
    depthwise_backward_weight(s, x, dy, dw);
  else if (taps_applies<T>(s))
    taps_backward_weight(s, x, dy, dw);
  else if (channels_weight_applies<T>(s))
    channels_backward_weight(s, x, dy, dw);
  else if (!weight_rows_applies<T>(s))
    columns_backward_weight(s, x, dy, dw);
  else if (weight_rows(s, x, dy, dw, db))
    return;
  if (db) conv2d_backward_bias(s, dy, db);
}

template <class T>
void conv2d_backward_bias(const Conv2dShape& s, const T* dy, T* db) {
  parallel_for(s.out_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t o = begin; o < end; ++o) db[o] = s.batch == 0 ? T(0) : sum_channel(s, dy + o * s.out_plane());
  });
}

#define TANDEM_INSTANTIATE(T)                                                                                       \
  template void conv2d_forward<T>(const Conv2dShape&, const T*, const T*, const T*, T*, const Conv2dInference<T>&); \
  template void conv2d_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);                               \
  template void conv2d_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*, T*);                          \
  template void conv2d_backward_bias<T>(const Conv2dShape&, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
