// Convolution with one image in each vector lane: for batches that fill the lanes and planes that fit in the cache.
//
// kLanes images are laid out as [height][width][channels][image]. One output position of all these images is then a sum
// of row-times-vector products: no columns are built, no lane is wasted at edges, and taps in the padding cost nothing.
// Images that fill at most half of the lanes have two adjacent rows of the output there.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kEnoughTasks = 8;  // with fewer, each task is itself split among the threads

// The taps [tap, tap + count) of the kernel that read the source at a result position along one axis; the first one reads
// `place`, each further one a dilation on.
struct Taps {
  int64_t tap, place, count;
};
Taps taps_at(int64_t position, const Conv2dParameters& p, std::size_t d, int64_t in, int64_t kernel) {
  const int64_t first = position * p.stride[d] - p.padding[d], dilation = p.dilation[d];
  const int64_t tap = first < 0 ? ceil_div(-first, dilation) : 0, place = first + tap * dilation;
  return {tap, place,
          place < in ? std::clamp<int64_t>(ceil_div(in - place, dilation), 0, kernel - std::min(tap, kernel)) : 0};
}

template <class T>
struct Plan {
  const Conv2dShape& s;
  int64_t tile_rows, tiles;  // of the output channels of a group
  WeightTiles<T> packed;

  // Vectors from one position of the working source to the next: odd, so that the taps of a channel are in different sets of
  // the L1 cache.
  int64_t source_step() const { return s.group_in() | 1; }
  // Channels of the working result, in whole tiles.
  int64_t padded_channels() const { return tiles * tile_rows; }
};

// Walks the positions [plane][channels] of a working array in the order of NCHW memory.
struct LanePlace {
  int64_t plane, channels, place = 0, channel = 0;
  int64_t next() {
    const int64_t at = place * channels + channel;
    if (++place == plane) place = 0, ++channel;
    return at;
  }
};

// Where the lanes' values are in a working array of planes: a lane has an image or, if there are two `rows`, those of an
// image from its first or its second row on.
struct LaneMemory {
  int64_t images, image_stride, row;
  int64_t rows = 1;

  int64_t count() const { return images * rows; }
  int64_t operator[](int64_t lane) const { return lane / rows * image_stride + lane % rows * row; }
};

// to[place][channel][lane] = from[memory[lane] + channel * plane + place] (to has `stride` channels per position). Further
// lanes are zero.
template <class T>
void gather_lanes(const T* from, const LaneMemory& memory, int64_t channels, int64_t plane, int64_t stride, T* to) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t lanes = memory.count();
  LanePlace at{plane, stride};
  const int64_t count = channels * plane;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vec<T> v[kWidth];
    for (int64_t lane = 0; lane < kWidth; ++lane) v[lane] = lane < lanes ? load(from + memory[lane] + i) : Vec<T>{};
    for (int64_t lane = 0; lane < lanes; ++lane) __builtin_prefetch(from + memory[lane] + i + 4 * kWidth);
    transpose_lanes<T>(v);
    for (int64_t e = 0; e < kWidth; ++e) store(to + at.next() * kWidth, v[e]);
  }
  for (; i < count; ++i) {
    T* values = to + at.next() * kWidth;
    for (int64_t lane = 0; lane < kWidth; ++lane) values[lane] = lane < lanes ? from[memory[lane] + i] : T(0);
  }
}

// The inverse: to[lane * image_stride + channel * plane + place] = from[place][channel][lane] (from has
// `stride` channels per position), rounded to R.
template <class T, class R>
void scatter_lanes(const T* from, int64_t stride, int64_t image_stride, int64_t images, int64_t channels, int64_t plane,
                   R* to) {
  constexpr int64_t kWidth = kLanes<T>;
  LanePlace at{plane, stride};
  const int64_t count = channels * plane;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vec<T> v[kWidth];
    for (int64_t e = 0; e < kWidth; ++e) v[e] = load(from + at.next() * kWidth);
    transpose_lanes<T>(v);
    for (int64_t lane = 0; lane < images; ++lane) {
      store_narrow<T>(to + lane * image_stride + i, v[lane]);
      __builtin_prefetch(to + lane * image_stride + i + 4 * kWidth, 1);
    }
  }
  for (; i < count; ++i) {
    const T* values = from + at.next() * kWidth;
    for (int64_t lane = 0; lane < images; ++lane) to[lane * image_stride + i] = static_cast<R>(values[lane]);
  }
}

// Computes the output rows [begin, end) of one group of channels for kLanes images.
template <class T>
void convolve(const Plan<T>& plan, const T* source, int64_t group, int64_t begin, int64_t end, T* result) {
  constexpr int64_t kWidth = kLanes<T>;
  const Conv2dShape& s = plan.s;
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(plan.tile_rows), 1, s.pairs);
  const int64_t tile_size = s.depth() * plan.tile_rows, step = plan.source_step() * kWidth;
  const T* weights = plan.packed.weights + group * plan.tiles * tile_size;
  const T* bias = plan.packed.bias ? plan.packed.bias + group * plan.padded_channels() : nullptr;
  auto* segments = scratch<TileSegment<T>>(Scratch::kConvColumns, s.kernel_h);
  Tile<T> tile{.segments = segments,
               .b_step = s.p.dilation[1] * step,
               .c = result + begin * s.out_w() * plan.padded_channels() * kWidth,
               .ldc = kWidth,
               .repeats = s.group_in(),
               .a_repeat = s.kernel_size() * plan.tile_rows,
               .b_repeat = kWidth};
  for (int64_t p = begin; p < end; ++p)
    for (int64_t q = 0; q < s.out_w(); ++q) {
      const Taps rows = taps_at(p, s.p, 0, s.in_h, s.kernel_h), columns = taps_at(q, s.p, 1, s.in_w, s.kernel_w);
      tile.segment_count = columns.count == 0 ? 0 : rows.count;
      for (int64_t r = 0; r < tile.segment_count; ++r)
        segments[r] = {weights + ((rows.tap + r) * s.kernel_w + columns.tap) * plan.tile_rows,
                       source + ((rows.place + r * s.p.dilation[0]) * s.in_w + columns.place) * step, columns.count};
      for (int64_t i = 0; i < plan.tiles; ++i, tile.c += plan.tile_rows * kWidth) {
        tile.row_bias = bias ? bias + i * plan.tile_rows : nullptr;
        kernel(tile);
        for (int64_t r = 0; r < tile.segment_count; ++r) segments[r].a += tile_size;
      }
    }
}

// Processes one group of channels for the kLanes images from `first` on. When called outside a parallel_for,
// its parts are distributed among the threads.
template <class T, class R>
void run_block(const Plan<T>& plan, const T* x, int64_t first, int64_t group, R* y) {
  constexpr int64_t kWidth = kLanes<T>, kChannels = 16;
  const Conv2dShape& s = plan.s;
  const int64_t images = std::min(kWidth, s.batch - first), in_plane = s.in_plane(), out_plane = s.out_plane();
  T* in = scratch<T>(Scratch::kConvInput, in_plane * plan.source_step() * kWidth);
  T* out = scratch<T>(Scratch::kConvOutput, plan.padded_channels() * out_plane * kWidth);
  x += (first * s.p.groups + group) * s.group_in() * in_plane;
  y += (first * s.p.groups + group) * s.group_out() * out_plane;
  const LaneMemory memory{images, s.in_channels * in_plane, 0};
  parallel_for(s.group_in(), kChannels, [&](int64_t begin, int64_t end) {
    gather_lanes(x + begin * in_plane, memory, end - begin, in_plane, plan.source_step(), in + begin * kWidth);
  });
  parallel_for(s.out_h(), 1, [&](int64_t begin, int64_t end) { convolve(plan, in, group, begin, end, out); });
  parallel_for(s.group_out(), kChannels, [&](int64_t begin, int64_t end) {
    scatter_lanes(out + begin * kWidth, plan.padded_channels(), s.out_channels * out_plane, images, end - begin,
                  out_plane, y + begin * out_plane);
  });
}

// The same for at most half as many images, with two rows of the output in each position. The working source begins with
// a row of zeros: at the output's rows 2 k and 2 k + 1 its row i has the source's rows i - 1 and i. Taps that one of the
// two finds in the padding are products with zeros.
template <class T, class R>
void run_row_pairs(const Plan<T>& whole, const T* x, int64_t first, int64_t group, R* y) {
  constexpr int64_t kWidth = kLanes<T>, kChannels = 16;
  const Conv2dShape& s = whole.s;
  Conv2dShape paired = s;
  ++paired.in_h;
  paired.p.stride[0] = 2;
  --paired.p.padding[0];
  const Plan<T> plan{paired, whole.tile_rows, whole.tiles, whole.packed};
  const int64_t images = s.batch - first, in_plane = s.in_plane(), plane = paired.in_plane(),
                rows = ceil_div(s.out_h(), 2), width = s.out_w(), half = rows * width;
  // Planes with a row of zeros before each, and after the last one of an image.
  const LaneMemory memory{images, s.group_in() * plane + s.in_w, s.in_w, 2};
  T* in = scratch<T>(Scratch::kConvInput, plane * plan.source_step() * kWidth + images * memory.image_stride);
  T* planes = in + plane * plan.source_step() * kWidth;
  T* out = scratch<T>(Scratch::kConvOutput, (plan.padded_channels() + s.group_out()) * half * kWidth);
  R* halves = reinterpret_cast<R*>(out + plan.padded_channels() * half * kWidth);
  x += (first * s.p.groups + group) * s.group_in() * in_plane;
  y += (first * s.p.groups + group) * s.group_out() * s.out_plane();
  parallel_for(images, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      T* to = planes + i * memory.image_stride;
      const T* from = x + i * s.in_channels * in_plane;
      for (int64_t c = 0; c < s.group_in(); ++c, from += in_plane) {
        to = std::fill_n(to, s.in_w, T(0));
        to = std::copy_n(from, in_plane, to);
      }
      std::fill_n(to, s.in_w, T(0));
    }
  });
  parallel_for(s.group_in(), kChannels, [&](int64_t begin, int64_t end) {
    gather_lanes(planes + begin * plane, memory, end - begin, plane, plan.source_step(), in + begin * kWidth);
  });
  parallel_for(rows, 1, [&](int64_t begin, int64_t end) { convolve(plan, in, group, begin, end, out); });
  parallel_for(s.group_out(), kChannels, [&](int64_t begin, int64_t end) {
    scatter_lanes(out + begin * kWidth, plan.padded_channels(), s.group_out() * half, memory.count(), end - begin, half,
                  halves + begin * half);
    for (int64_t lane = 0; lane < memory.count(); ++lane)
      for (int64_t c = begin; c < end; ++c) {
        const R* from = halves + (lane * s.group_out() + c) * half;
        R* to = y + (lane / 2 * s.out_channels + c) * s.out_plane();
        for (int64_t row = lane % 2; row < s.out_h(); row += 2, from += width)
          std::copy_n(from, width, to + row * width);
      }
  });
}

template <class T, class R>
void run(const Plan<T>& plan, const T* x, R* y) {
  const Conv2dShape& s = plan.s;
  const int64_t groups = s.p.groups, tasks = ceil_div(s.batch, kLanes<T>) * groups;
  const auto run_tasks = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i / groups * kLanes<T>;
      const bool half = (s.batch - first) * 2 <= kLanes<T> && s.p.stride[0] == 1 && s.out_h() > 1;
      half ? run_row_pairs(plan, x, first, i % groups, y) : run_block(plan, x, first, i % groups, y);
    }
  };
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, run_tasks) : run_tasks(0, tasks);
}

}  // namespace

template <class T>
void lanes_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  const int64_t tiles = ceil_div(s.group_out(), kMaxTileRows[1]), tile_rows = ceil_div(s.group_out(), tiles);
  ConvWeight<T> weight = w;
  weight.kept = nullptr;  // only other methods keep a copy, for single requests
  const Plan<T> plan{s, tile_rows, tiles, pack_weight_tiles(s, weight, tile_rows, e.bias)};
  if constexpr (std::is_same_v<T, float>)
    if (s.pairs) return run(plan, x, reinterpret_cast<BFloat16*>(e.rounded.y));
  run(plan, x, y);
}

#define TANDEM_INSTANTIATE(T) \
  template void lanes_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
