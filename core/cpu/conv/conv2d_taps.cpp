// The gradient of the weights by taps (conv2d_taps.h).
//
// The images of a chunk are copied to padded planes [image][channel][padded h][padded w], and the gradient of the
// output to [panel][image][place][kPanel]. A task has one panel of output channels and some input channels. For a block
// of output rows, whose gradients stay in the L2 cache, it sums each channel's taps.
// The order of a sum depends only on the shape.
#include "tandem/core/cpu/conv/conv2d_taps.h"

#include <algorithm>
#include <utility>

#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kChunkBytes = 16 << 20;   // of packed images and gradients
constexpr int64_t kBlockBytes = 256 << 10;  // of gradients of one panel
constexpr int64_t kTaskChannels = 16;
constexpr int kMaxTaps = kVectorRegisters == 32 ? 14 : 6;

template <class T>
struct TapTile {
  const T* x;                     // the input of the first tap at the first place
  const T* dy;                    // [rows][places][kPanel]
  int64_t rows, places;           // of the output
  int64_t kernel_row;             // between kernel rows in x
  int64_t row_step, column_step;  // between output rows and places in x
  T* sums;                        // [taps][kPanel], added to
};
template <class T>
using TapKernel = void (*)(const TapTile<T>&);

// kRows kernel rows of kWidth taps.
template <class T, int kWidth, int kRows>
void run_tile(const TapTile<T>& tile) {
  Vec<T> sum[kRows * kWidth][2] = {};
  const T* dy = tile.dy;
  const int64_t kernel_row = tile.kernel_row, column_step = tile.column_step;
  for (int64_t p = 0; p < tile.rows; ++p) {
    const T* x = tile.x + p * tile.row_step;
    for (int64_t q = tile.places; q > 0; --q, x += column_step, dy += kPanel<T>) {
      const Vec<T> first = load(dy), second = load(dy + kLanes<T>);
#pragma GCC unroll 4
      for (int r = 0; r < kRows; ++r)
#pragma GCC unroll 8
        for (int k = 0; k < kWidth; ++k) {
          sum[r * kWidth + k][0] += x[r * kernel_row + k] * first;
          sum[r * kWidth + k][1] += x[r * kernel_row + k] * second;
        }
    }
  }
#pragma GCC unroll 16
  for (int i = 0; i < kRows * kWidth; ++i) {
    T* to = tile.sums + i * kPanel<T>;
    store(to, load(to) + sum[i][0]);
    store(to + kLanes<T>, load(to + kLanes<T>) + sum[i][1]);
  }
}

// Kernel rows in a tile.
constexpr int max_rows(int64_t width) {
  return width == 3 ? std::max(1, kMaxTaps / 3) : width == 5 ? std::max(1, kMaxTaps / 5) : std::max(1, kMaxTaps / 7);
}

template <class T, int kWidth, int... kRows>
TapKernel<T> pick(int64_t rows, std::integer_sequence<int, kRows...>) {
  static constexpr TapKernel<T> kernels[] = {run_tile<T, kWidth, kRows + 1>...};
  return kernels[rows - 1];
}
template <class T>
TapKernel<T> tap_kernel(int64_t width, int64_t rows) {
  if (width == 3) return pick<T, 3>(rows, std::make_integer_sequence<int, max_rows(3)>{});
  if (width == 5) return pick<T, 5>(rows, std::make_integer_sequence<int, max_rows(5)>{});
  return pick<T, 7>(rows, std::make_integer_sequence<int, max_rows(7)>{});
}

template <class T>
struct Plan {
  const Conv2dShape& s;
  int64_t out_h = s.out_h(), out_w = s.out_w(), places = out_h * out_w;
  int64_t padded_w = s.padded_w(), padded_plane = s.padded_h() * padded_w;
  int64_t panels = ceil_div(s.group_out(), kPanel<T>), panel_size = s.depth() * kPanel<T>;
  int64_t image_size = s.in_channels * padded_plane, gradient_size = s.p.groups * panels * places * kPanel<T>;
  int64_t chunk =
      std::clamp<int64_t>(kChunkBytes / ((image_size + gradient_size) * static_cast<int64_t>(sizeof(T))), 1, s.batch);
  int64_t block_rows =
      std::clamp<int64_t>(kBlockBytes / (out_w * kPanel<T> * static_cast<int64_t>(sizeof(T))), 1, out_h);
};

template <class T>
void pack_image(const Plan<T>& plan, const T* x, T* to) {
  const Conv2dShape& s = plan.s;
  parallel_for(s.in_channels, std::max<int64_t>(1, 16384 / plan.padded_plane), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      T* plane = to + c * plan.padded_plane;
      std::fill_n(plane, s.p.padding[0] * plan.padded_w, T(0));
      for (int64_t h = 0; h < s.in_h; ++h)
        copy_padded(x + c * s.in_plane() + h * s.in_w, s.in_w, s.p.padding[1],
                    plane + (h + s.p.padding[0]) * plan.padded_w);
      std::fill_n(plane + (s.in_h + s.p.padding[0]) * plan.padded_w, s.p.padding[0] * plan.padded_w, T(0));
    }
  });
}

// to[panel][image][place][kPanel] of one image of the chunk.
template <class T>
void pack_gradient(const Plan<T>& plan, const T* dy, int64_t image, int64_t images, T* to) {
  const Conv2dShape& s = plan.s;
  parallel_for(s.p.groups * plan.panels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t first = t % plan.panels * kPanel<T>, channels = std::min(kPanel<T>, s.group_out() - first);
      T* panel = to + (t * images + image) * plan.places * kPanel<T>;
      if (channels < kPanel<T>) std::fill_n(panel, plan.places * kPanel<T>, T(0));
      transpose(channels, plan.places, dy + (t / plan.panels * s.group_out() + first) * plan.places, plan.places, panel,
                kPanel<T>);
    }
  });
}

// Adds the images' products of one panel (of all groups' panels) and the channels [first, last) of its group to
// sums[channel][tap][kPanel].
template <class T>
void multiply(const Plan<T>& plan, const T* images, const T* gradients, int64_t count, int64_t panel, int64_t first,
              int64_t last, T* sums) {
  const Conv2dShape& s = plan.s;
  const int64_t most = max_rows(s.kernel_w), tiles = ceil_div(s.kernel_h, most),
                tile_rows = ceil_div(s.kernel_h, tiles);
  TapTile<T> tile{.places = plan.out_w,
                  .kernel_row = s.p.dilation[0] * plan.padded_w,
                  .row_step = s.p.stride[0] * plan.padded_w,
                  .column_step = s.p.stride[1]};
  for (int64_t i = 0; i < count; ++i)
    for (int64_t p = 0; p < plan.out_h; p += plan.block_rows) {
      tile.rows = std::min(plan.block_rows, plan.out_h - p);
      tile.dy = gradients + ((panel * count + i) * plan.places + p * plan.out_w) * kPanel<T>;
      for (int64_t c = first; c < last; ++c) {
        const T* plane = images + i * plan.image_size + (panel / plan.panels * s.group_in() + c) * plan.padded_plane +
                         p * tile.row_step;
        T* to = sums + c * s.kernel_size() * kPanel<T>;
        for (int64_t r = 0; r < s.kernel_h; r += tile_rows) {
          tile.x = plane + r * tile.kernel_row;
          tile.sums = to + r * s.kernel_w * kPanel<T>;
          tap_kernel<T>(s.kernel_w, std::min(tile_rows, s.kernel_h - r))(tile);
        }
      }
    }
}

}  // namespace

template <class T>
bool taps_applies(const Conv2dShape& s) {
  const bool filled = s.group_out() * 5 >= ceil_div(s.group_out(), kPanel<T>) * kPanel<T> * 4;
  return s.batch > 0 && filled && (s.kernel_w == 3 || s.kernel_w == 5 || s.kernel_w == 7) && s.p.dilation[1] == 1 &&
         s.out_w() >= 5 && s.out_plane() >= 100;
}

template <class T>
void taps_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw) {
  const Plan<T> plan{s};
  const int64_t panels = s.p.groups * plan.panels, blocks = ceil_div(s.group_in(), kTaskChannels);
  const Workspace<T> image_memory(plan.chunk * plan.image_size), gradient_memory(plan.chunk * plan.gradient_size),
      sum_memory(panels * plan.panel_size);
  T *images = image_memory.data(), *gradients = gradient_memory.data(), *sums = sum_memory.data();
  for (int64_t begin_image = 0; begin_image < s.batch; begin_image += plan.chunk) {
    const int64_t count = std::min(plan.chunk, s.batch - begin_image);
    const bool last = begin_image + count == s.batch;
    for (int64_t i = 0; i < count; ++i) {
      pack_image(plan, x + (begin_image + i) * s.in_channels * s.in_plane(), images + i * plan.image_size);
      pack_gradient(plan, dy + (begin_image + i) * s.out_channels * plan.places, i, count, gradients);
    }
    parallel_for(panels * blocks, 1, [&](int64_t begin, int64_t end) {
      for (int64_t t = begin; t < end; ++t) {
        const int64_t panel = t / blocks, first = t % blocks * kTaskChannels,
                      end_channel = std::min(s.group_in(), first + kTaskChannels);
        T* to = sums + panel * plan.panel_size;
        const int64_t from_row = first * s.kernel_size(), rows = (end_channel - first) * s.kernel_size();
        if (begin_image == 0) std::fill_n(to + from_row * kPanel<T>, rows * kPanel<T>, T(0));
        multiply(plan, images, gradients, count, panel, first, end_channel, to);
        if (!last) continue;
        const int64_t channel = panel % plan.panels * kPanel<T>,
                      channels = std::min(kPanel<T>, s.group_out() - channel);
        transpose_exactly(rows, channels, to + from_row * kPanel<T>, kPanel<T>,
                          dw + (panel / plan.panels * s.group_out() + channel) * s.depth() + from_row, s.depth());
      }
    });
  }
}

#define TANDEM_INSTANTIATE(T)                        \
  template bool taps_applies<T>(const Conv2dShape&); \
  template void taps_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
