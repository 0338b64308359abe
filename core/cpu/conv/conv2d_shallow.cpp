// Convolution with few products per output (for example, one input channel). Columns of a few output rows stay in the
// L1 cache and are multiplied in place, without packing.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>
#include <utility>

#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

// Weights in a tile of the weight gradient, whose sums stay in registers, and output channels.
constexpr int64_t kMaxTaps = kVectorBytes == 64 ? 9 : 3;
constexpr int kMaxOutputs = 2;
constexpr int64_t kEnoughTasks = 32;

// Output rows processed at once; their positions form `width` columns, whole vectors.
template <class T>
struct Cut {
  int64_t rows, width, padded_h, padded_w;

  explicit Cut(const Conv2dShape& s) {
    rows = conv2d_order::shallow_rows<T>(s);
    width = ceil_div(rows * s.out_w(), 2 * Wide<T>::kCount) * 2 * Wide<T>::kCount;
    padded_h = s.padded_h();
    padded_w = s.padded_w();
  }
  // Rows are copied in whole vectors: a copy may read and write up to one vector past the end.
  int64_t image_elements(const Conv2dShape& s) const { return s.group_in() * padded_h * padded_w + 2 * kLanes<T>; }
  int64_t column_elements(const Conv2dShape& s) const { return s.depth() * width + 2 * kLanes<T>; }
};

// Copies n elements and up to one vector more.
template <class T>
inline void copy_beyond(const T* from, int64_t n, T* to) {
  for (int64_t i = 0; i < n; i += kLanes<T>) store(to + i, load(from + i));
}

// to[group_in][padded_h][padded_w] of one group of one image.
template <class T>
void pad_image(const Conv2dShape& s, const Cut<T>& cut, const T* x, T* to) {
  const auto [pad_h, pad_w] = s.p.padding;
  if (pad_h == 0 && pad_w == 0) {
    std::copy_n(x, s.group_in() * s.in_plane(), to);
    return;
  }
  std::fill_n(to, s.group_in() * cut.padded_h * cut.padded_w, T(0));
  for (int64_t c = 0; c < s.group_in(); ++c)
    for (int64_t h = 0; h < s.in_h; ++h, x += s.in_w)
      std::copy_n(x, s.in_w, to + (c * cut.padded_h + h + pad_h) * cut.padded_w + pad_w);
}

// columns[depth][width] of output rows [first, first + rows); zero past the last position.
template <class T>
void make_columns(const Conv2dShape& s, const Cut<T>& cut, const T* image, int64_t first, int64_t rows, T* columns) {
  const auto [stride_h, stride_w] = s.p.stride;
  const auto [dilation_h, dilation_w] = s.p.dilation;
  const int64_t ow = s.out_w();
  for (int64_t k = 0; k < s.depth(); ++k, columns += cut.width) {
    const int64_t c = k / s.kernel_size(), r = k % s.kernel_size() / s.kernel_w, q = k % s.kernel_w;
    const T* from = image + (c * cut.padded_h + first * stride_h + r * dilation_h) * cut.padded_w + q * dilation_w;
    T* to = columns;
    for (int64_t p = 0; p < rows; ++p, from += stride_h * cut.padded_w, to += ow) {
      if (stride_w == 1)
        copy_beyond(from, ow, to);
      else
        for (int64_t j = 0; j < ow; ++j) to[j] = from[j * stride_w];
    }
    std::fill(to, columns + cut.width, T(0));
  }
}

// Calls f(first row, rows, columns) for each piece of one group of one image.
template <class T, class F>
void for_columns(const Conv2dShape& s, const Cut<T>& cut, const T* x, F f) {
  T* image = scratch<T>(Scratch::kConvInput, cut.image_elements(s));
  T* columns = scratch<T>(Scratch::kConvColumns, cut.column_elements(s));
  pad_image(s, cut, x, image);
  for (int64_t first = 0; first < s.out_h(); first += cut.rows) {
    const int64_t rows = std::min(cut.rows, s.out_h() - first);
    make_columns(s, cut, image, first, rows, columns);
    f(first, rows, columns);
  }
}

// Weights of one group as [tile][depth][tile_rows], and its bias.
template <class T>
struct Weights {
  int64_t tiles, tile_rows;
  const T *packed, *bias;
};

// y[group_out][..] of `places` positions: weights times columns plus bias.
template <class T>
void multiply(const Conv2dShape& s, const Weights<T>& w, const T* columns, int64_t width, int64_t places, T* y) {
  constexpr int64_t kWidth = kLanes<T>, kAhead = 4;
  T* edge = scratch<T>(Scratch::kGemmTile, w.tile_rows * 2 * kWidth);
  const int64_t plane = s.out_plane();
  for (int64_t tile = 0; tile < w.tiles; ++tile) {
    const int64_t row = tile * w.tile_rows, rows = std::min(w.tile_rows, s.group_out() - row);
    const T* bias = w.bias ? w.bias + row : nullptr;
    for (int64_t j = 0; j < places; j += 2 * kWidth) {
      const int64_t count = std::min(2 * kWidth, places - j);
      const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(w.tile_rows), count > kWidth ? 2 : 1);
      const TileSegment<T> segment{w.packed + row * s.depth(), columns + j, s.depth()};
      T* to = y + row * plane + j;
      // Prefetches explicitly: there are more streams (one per row) than the hardware prefetcher can follow.
      for (int64_t r = 0; r < rows; ++r) {
        __builtin_prefetch(to + r * plane + kAhead * kWidth, 1);
        __builtin_prefetch(to + r * plane + (kAhead + 1) * kWidth, 1);
      }
      if (count == 2 * kWidth && rows == w.tile_rows) {
        kernel({&segment, 1, width, to, plane, T(1), false, bias});
        continue;
      }
      kernel({&segment, 1, width, edge, 2 * kWidth, T(1), false, bias});
      for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * 2 * kWidth, count, to + r * plane);
    }
  }
}

// sums[kOutputs][kTaps] (vectors, `stride` apart) += dy rows times column rows, over `places` positions;
// totals[kOutputs], if given, += dy rows.
template <class T, int kOutputs, int kTaps>
void add_products(const T* dy, int64_t plane, const T* columns, int64_t width, int64_t places, int64_t stride,
                  Wide<T>* sums, Wide<T>* totals) {
  constexpr int64_t kWidth = Wide<T>::kCount;
  Wide<T> sum[kOutputs][kTaps] = {}, total[kOutputs] = {};
  const auto add = [&](const Wide<T>(&gradient)[kOutputs], int64_t p) {
    for (int o = 0; o < kOutputs; ++o) total[o] += gradient[o];
#pragma GCC unroll 9
    for (int k = 0; k < kTaps; ++k) {
      const Wide<T> column = load_block<T>(columns + k * width + p);
#pragma GCC unroll 2
      for (int o = 0; o < kOutputs; ++o) sum[o][k] = fma(gradient[o], column, sum[o][k]);
    }
  };
  Wide<T> gradient[kOutputs];
  int64_t p = 0;
  for (; p + kWidth <= places; p += kWidth) {
    for (int o = 0; o < kOutputs; ++o) {
      gradient[o] = load_block<T>(dy + o * plane + p);
      __builtin_prefetch(dy + (o + kOutputs) * plane + p);  // of the next channels
    }
    add(gradient, p);
  }
  if (p < places) {
    for (int o = 0; o < kOutputs; ++o) {
      T tail[kWidth] = {};
      std::copy(dy + o * plane + p, dy + o * plane + places, tail);
      gradient[o] = load_block<T>(tail);
    }
    add(gradient, p);
  }
  for (int o = 0; o < kOutputs; ++o)
    for (int k = 0; k < kTaps; ++k) sums[o * stride + k] += sum[o][k];
  for (int o = 0; totals && o < kOutputs; ++o) totals[o * stride] += total[o];
}

template <class T>
using AddProducts = void (*)(const T*, int64_t, const T*, int64_t, int64_t, int64_t, Wide<T>*, Wide<T>*);

template <class T, int kOutputs, int... kTaps>
AddProducts<T> pick_add(int64_t taps, std::integer_sequence<int, kTaps...>) {
  static constexpr AddProducts<T> functions[] = {add_products<T, kOutputs, kTaps + 1>...};
  return functions[taps - 1];
}

// sums[group_out][depth + 1] (vectors) += the products of one piece; the last entry sums dy.
template <class T>
void add_piece(const Conv2dShape& s, const T* dy, const T* columns, int64_t width, int64_t places, Wide<T>* sums) {
  const int64_t depth = s.depth(), plane = s.out_plane(), tiles = ceil_div(depth, kMaxTaps);
  for (int64_t tile = 0; tile < tiles; ++tile) {
    const int64_t k = depth * tile / tiles, taps = depth * (tile + 1) / tiles - k;
    const auto all_taps = std::make_integer_sequence<int, kMaxTaps>{};
    const AddProducts<T> pair = pick_add<T, kMaxOutputs>(taps, all_taps), single = pick_add<T, 1>(taps, all_taps);
    for (int64_t o = 0; o < s.group_out(); o += kMaxOutputs)
      (o + 1 < s.group_out() ? pair : single)(dy + o * plane, plane, columns + k * width, width, places, depth + 1,
                                              sums + o * (depth + 1) + k,
                                              tile == 0 ? sums + o * (depth + 1) + depth : nullptr);
  }
}

}  // namespace

template <class T>
void shallow_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const Cut<T> cut(s);
  const int64_t depth = s.depth(), tiles = ceil_div(s.group_out(), kMaxTileRows[2]);
  const int64_t tile_rows = ceil_div(s.group_out(), tiles), group_size = tiles * tile_rows * (depth + 1);
  T* packed = scratch<T>(Scratch::kConvWeight, s.p.groups * group_size);
  std::fill_n(packed, s.p.groups * group_size, T(0));
  for (int64_t o = 0; o < s.out_channels; ++o) {
    const int64_t row = o % s.group_out(), tile = row / tile_rows;
    T* to = packed + o / s.group_out() * group_size;
    for (int64_t k = 0; k < depth; ++k) to[(tile * depth + k) * tile_rows + row % tile_rows] = w.data[o * depth + k];
    if (e.bias) to[tiles * tile_rows * depth + row] = e.bias[o];
  }
  parallel_for_each(s.batch * s.p.groups, 4, [&](int64_t i) {
    const T* mine = packed + i % s.p.groups * group_size;
    const Weights<T> weights{tiles, tile_rows, mine, e.bias ? mine + tiles * tile_rows * depth : nullptr};
    T* out = y + i * s.group_out() * s.out_plane();
    for_columns(s, cut, x + i * s.group_in() * s.in_plane(), [&](int64_t first, int64_t rows, const T* columns) {
      multiply(s, weights, columns, cut.width, rows * s.out_w(), out + first * s.out_w());
    });
  });
}

template <class T>
void shallow_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw, T* db) {
  const Cut<T> cut(s);
  const int64_t row = s.depth() + 1, elements = s.out_channels * row;
  const WeightSum order = conv2d_order::shallow_sum<T>(s);
  const int64_t part_images = order.part_images, parts = order.parts(s.batch);
  // With few images, their groups are tasks of their own.
  const int64_t groups = ceil_div(s.p.groups, std::clamp<int64_t>(kEnoughTasks / parts, 1, s.p.groups)),
                blocks = ceil_div(s.p.groups, groups), group_elements = s.group_out() * row;
  const Workspace<T> memory(parts * elements);
  T* partial = memory.data();
  parallel_for(parts * blocks, 1, [&](int64_t begin, int64_t end) {
    auto* sums = scratch<Wide<T>>(Scratch::kConvOutput, groups * group_elements);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t part = t / blocks, first = t % blocks * groups, last = std::min(s.p.groups, first + groups);
      std::fill_n(sums, (last - first) * group_elements, Wide<T>{});
      for (int64_t n = part * part_images; n < std::min(s.batch, (part + 1) * part_images); ++n)
        for (int64_t group = first; group < last; ++group) {
          const int64_t i = n * s.p.groups + group;
          for_columns(s, cut, x + i * s.group_in() * s.in_plane(), [&](int64_t top, int64_t rows, const T* columns) {
            add_piece(s, dy + i * s.group_out() * s.out_plane() + top * s.out_w(), columns, cut.width, rows * s.out_w(),
                      sums + (group - first) * group_elements);
          });
        }
      for (int64_t j = 0; j < (last - first) * group_elements; ++j) {
        partial[part * elements + first * group_elements + j] = sum_lanes(sums[j]);
      }
    }
  });
  parallel_for_each(elements, 4096, [&](int64_t j) {
    T sum = 0;
    for (int64_t part = 0; part < parts; ++part) sum += partial[part * elements + j];
    if (j % row < s.depth())
      dw[j / row * s.depth() + j % row] = sum;
    else if (db)
      db[j / row] = sum;
  });
}

#define TANDEM_INSTANTIATE(T)                                                                                   \
  template void shallow_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void shallow_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
