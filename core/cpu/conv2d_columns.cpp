// Convolution with panels of columns (conv2d_columns.h).
#include "tandem/core/cpu/conv2d_columns.h"

#include <algorithm>

#include "tandem/core/cpu/microkernel.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlockBytes = 384 << 10;  // of columns built at once
constexpr int64_t kTaskWork = 1 << 18;      // minimum multiplications per task

int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

template <class T>
struct Plan {
  static constexpr int64_t kPanel = 2 * kLanes<T>;
  const Conv2dShape& s;
  const T *x, *x_end;
  int64_t places, depth, out_w;
  int64_t tiles, tile_rows;  // of the output channels of one group
  int64_t block, blocks;     // positions in a block (whole panels); blocks in an image
  const T *weights, *bias;   // [group][tile][depth][tile_rows], [group][tile][tile_rows] or none

  Plan(const Conv2dShape& shape, const T* source)
      : s(shape),
        x(source),
        x_end(source + s.batch * s.in_channels * s.in_plane()),
        places(s.out_plane()),
        depth(s.depth()),
        out_w(s.out_w()) {
    tiles = ceil_div(s.group_out(), kMaxTileRows[2]);
    tile_rows = ceil_div(s.group_out(), tiles);
    const int64_t fit = kBlockBytes / (depth * kPanel * static_cast<int64_t>(sizeof(T)));
    block = std::clamp<int64_t>(fit, 2, std::max<int64_t>(2, ceil_div(places, kPanel))) * kPanel;
    blocks = ceil_div(places, block);
  }
};

// to[0, end - begin) = row[q * stride] for q in [begin, end); zero where q is outside [low, high), which is
// outside the input. May write up to one vector past the end.
template <class T>
void copy_row(const Plan<T>& plan, const T* row, int64_t low, int64_t high, int64_t begin, int64_t end,
              T* to) {
  const int64_t first = std::clamp(low, begin, end), last = std::clamp(high, first, end);
  const int64_t stride = plan.s.p.stride[1];
  const T* from = row + first * stride;
  const int64_t count = last - first;
  for (int64_t q = begin; q < first; ++q) *to++ = 0;
  if (stride == 1 && from + count + kLanes<T> <= plan.x_end) {
    for (int64_t i = 0; i < count; i += kLanes<T>) store(to + i, load(from + i));
  } else {
    for (int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
  }
  to += count;
  for (int64_t q = last; q < end; ++q) *to++ = 0;
}

// line[0, count) = the inputs of tap (r, q) of one channel for the positions [first, first + count).
template <class T>
void make_line(const Plan<T>& plan, const T* channel, int64_t r, int64_t q, int64_t first, int64_t count,
               T* line) {
  const Conv2dShape& s = plan.s;
  const auto [stride_h, stride_w] = s.p.stride;
  const auto [pad_h, pad_w] = s.p.padding;
  const auto [dilation_h, dilation_w] = s.p.dilation;
  const int64_t shift = q * dilation_w - pad_w;
  const int64_t low = shift >= 0 ? 0 : (-shift + stride_w - 1) / stride_w;
  const int64_t high = s.in_w > shift ? (s.in_w - shift + stride_w - 1) / stride_w : 0;
  int64_t begin = first % plan.out_w, h = first / plan.out_w * stride_h - pad_h + r * dilation_h;
  for (; count > 0; h += stride_h, begin = 0) {
    const int64_t end = std::min(plan.out_w, begin + count);
    if (h < 0 || h >= s.in_h)
      std::fill_n(line, end - begin, T(0));
    else
      copy_row(plan, channel + h * s.in_w + shift, low, high, begin, end, line);
    line += end - begin;
    count -= end - begin;
  }
}

// panels[panel][depth][kPanel] of the positions [first, first + count) of one group of one image.
template <class T>
void make_panels(const Plan<T>& plan, const T* image, int64_t first, int64_t count, T* panels) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const Conv2dShape& s = plan.s;
  const int64_t width = ceil_div(count, kPanel) * kPanel;
  T* line = panels + plan.block * plan.depth;  // with one spare vector at its end
  for (int64_t k = 0; k < plan.depth; ++k) {
    const int64_t tap = k % s.kernel_size();
    make_line(plan, image + k / s.kernel_size() * s.in_plane(), tap / s.kernel_w, tap % s.kernel_w, first,
              count, line);
    std::fill(line + count, line + width, T(0));
    for (int64_t j = 0; j < width; j += kPanel) {
      T* to = panels + j * plan.depth + k * kPanel;
      store(to, load(line + j));
      store(to + kLanes<T>, load(line + j + kLanes<T>));
    }
  }
}

// y[group_out][places] of the positions in the panels.
template <class T>
void multiply_panels(const Plan<T>& plan, int64_t group, const T* panels, int64_t count, T* y) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(plan.tile_rows), 2);
  T* edge = scratch<T>(Scratch::kGemmTile, plan.tile_rows * kPanel);
  for (int64_t j = 0; j < count; j += kPanel) {
    const int64_t columns = std::min(kPanel, count - j);
    for (int64_t tile = 0; tile < plan.tiles; ++tile) {
      const int64_t row = tile * plan.tile_rows, rows = std::min(plan.tile_rows, plan.s.group_out() - row);
      const int64_t packed_row = (group * plan.tiles + tile) * plan.tile_rows;
      const TileSegment<T> segment{plan.weights + packed_row * plan.depth, panels + j * plan.depth,
                                   plan.depth};
      const T* bias = plan.bias ? plan.bias + packed_row : nullptr;
      T* to = y + row * plan.places + j;
      if (columns == kPanel && rows == plan.tile_rows) {
        kernel({&segment, 1, kPanel, to, plan.places, T(1), false, bias});
        continue;
      }
      kernel({&segment, 1, kPanel, edge, kPanel, T(1), false, bias});
      for (int64_t r = 0; r < rows; ++r) std::copy_n(edge + r * kPanel, columns, to + r * plan.places);
    }
  }
}

// Packs the weights, given by `weight(group, output channel, depth)`, and the bias.
template <class T, class F>
void pack(Plan<T>& plan, const T* bias, F weight) {
  const int64_t tile_size = plan.depth * plan.tile_rows, tiles = plan.s.p.groups * plan.tiles;
  T* packed = scratch<T>(Scratch::kConvWeight, tiles * (tile_size + plan.tile_rows));
  T* packed_bias = packed + tiles * tile_size;
  parallel_for(tiles, std::max<int64_t>(1, 16384 / tile_size), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / plan.tiles, first = t % plan.tiles * plan.tile_rows;
      const int64_t rows = std::min(plan.tile_rows, plan.s.group_out() - first);
      T* to = packed + t * tile_size;
      if (rows < plan.tile_rows) std::fill_n(to, tile_size, T(0));
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < plan.depth; ++k) to[k * plan.tile_rows + r] = weight(group, first + r, k);
      for (int64_t r = 0; r < plan.tile_rows; ++r)
        packed_bias[t * plan.tile_rows + r] =
            bias && r < rows ? bias[group * plan.s.group_out() + first + r] : T(0);
    }
  });
  plan.weights = packed;
  plan.bias = bias ? packed_bias : nullptr;
}

template <class T>
void run(const Plan<T>& plan, T* y) {
  const Conv2dShape& s = plan.s;
  const int64_t work = plan.depth * std::min(plan.block, plan.places) * s.group_out();
  const int64_t tasks = s.batch * s.p.groups * plan.blocks,
                grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    T* panels = scratch<T>(Scratch::kConvColumns, plan.block * (plan.depth + 1) + kLanes<T>);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t image = t / plan.blocks, first = t % plan.blocks * plan.block;
      const int64_t count = std::min(plan.block, plan.places - first);
      make_panels(plan, plan.x + image * s.group_in() * s.in_plane(), first, count, panels);
      multiply_panels(plan, image % s.p.groups, panels, count,
                      y + image * s.group_out() * plan.places + first);
    }
  });
}

}  // namespace

template <class T>
void columns_forward(const Conv2dShape& s, const T* x, const T* w, const T* bias, T* y) {
  if (s.batch == 0) return;
  Plan<T> plan(s, x);
  pack(plan, bias,
       [&](int64_t group, int64_t o, int64_t k) { return w[(group * s.group_out() + o) * plan.depth + k]; });
  run(plan, y);
}

bool columns_backward_suits(const Conv2dShape& s) {
  return s.turns() && s.in_plane() * 4 <= s.out_plane() * 5;
}

template <class T>
void columns_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  if (s.batch == 0) return;
  const Conv2dShape turned = s.turned();
  Plan<T> plan(turned, dy);
  pack(plan, static_cast<const T*>(nullptr), [&](int64_t group, int64_t c, int64_t k) {
    const int64_t o = k / s.kernel_size(), tap = s.kernel_size() - 1 - k % s.kernel_size();
    return w[((group * s.group_out() + o) * s.group_in() + c) * s.kernel_size() + tap];
  });
  run(plan, dx);
}

template void columns_forward<float>(const Conv2dShape&, const float*, const float*, const float*, float*);
template void columns_forward<double>(const Conv2dShape&, const double*, const double*, const double*,
                                      double*);
template void columns_backward_input<float>(const Conv2dShape&, const float*, const float*, float*);
template void columns_backward_input<double>(const Conv2dShape&, const double*, const double*, double*);

}  // namespace tandem::cpu
