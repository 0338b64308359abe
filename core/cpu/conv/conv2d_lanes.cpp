// Convolution with one image in each vector lane: for batches that fill the lanes and planes that fit in the cache.
//
// kLanes images are laid out as [height][width][channels][image]. One output position of all these images is then a sum
// of row-times-vector products along contiguous memory: no columns are built, no lane is wasted at edges, and taps in
// the padding cost nothing. The gradient with respect to the input uses the same loop with other taps.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>
#include <span>

#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kEnoughTasks = 8;  // with fewer, each task is itself split among the threads

// `count` consecutive taps k, k + 1 … of the kernel that read the positions i, i + 1 … of the source, along
// one axis.
struct Run {
  int64_t tap, place, count;
};

// The runs of each result position along one axis, in this thread's scratch memory.
struct Axis {
  int64_t places, kernel;
  int64_t* counts;  // [places]
  Run* runs;        // [places][kernel]

  Axis(Scratch slot, int64_t result_places, int64_t taps) : places(result_places), kernel(taps) {
    const std::size_t run_bytes = static_cast<std::size_t>(places * kernel) * sizeof(Run);
    runs = static_cast<Run*>(scratch_bytes(slot, run_bytes + static_cast<std::size_t>(places) * sizeof(int64_t)));
    counts = reinterpret_cast<int64_t*>(runs + places * kernel);
    std::fill_n(counts, places, 0);
  }
  std::span<const Run> at(int64_t place) const {
    return {runs + place * kernel, static_cast<std::size_t>(counts[place])};
  }
  void add(int64_t place, int64_t tap, int64_t from) {
    Run* next = runs + place * kernel + counts[place];
    if (counts[place] > 0 && next[-1].tap + next[-1].count == tap && next[-1].place + next[-1].count == from)
      ++next[-1].count;
    else
      *next = {tap, from, 1}, ++counts[place];
  }
};

// Forward, along axis d: result position o reads source position o * stride - padding + k * dilation through tap k.
Axis forward_axis(Scratch slot, const Conv2dParameters& p, std::size_t d, int64_t in, int64_t kernel) {
  const int64_t out = p.out_size(d, in, kernel), stride = p.stride[d], padding = p.padding[d], dilation = p.dilation[d];
  Axis axis(slot, out, kernel);
  for (int64_t o = 0; o < out; ++o)
    for (int64_t k = 0; k < kernel; ++k) {
      const int64_t i = o * stride - padding + k * dilation;
      if (i >= 0 && i < in) axis.add(o, k, i);
    }
  return axis;
}

// Backward: the source is dy. Taps count from the kernel's end, so they ascend with the source position.
Axis backward_axis(Scratch slot, const Conv2dParameters& p, std::size_t d, int64_t in, int64_t kernel) {
  const int64_t out = p.out_size(d, in, kernel), stride = p.stride[d], padding = p.padding[d], dilation = p.dilation[d];
  Axis axis(slot, in, kernel);
  for (int64_t i = 0; i < in; ++i)
    for (int64_t k = kernel - 1; k >= 0; --k) {
      const int64_t o = i + padding - k * dilation;
      if (o >= 0 && o % stride == 0 && o / stride < out) axis.add(i, kernel - 1 - k, o / stride);
    }
  return axis;
}

// One convolution: result [rows][cols][result_channels] from source [..][source_w][source_channels].
template <class T>
struct Plan {
  Axis rows, cols;
  int64_t batch, groups, source_channels, source_plane, source_w, result_channels;  // channels of one group
  int64_t kernel_h, kernel_w;
  bool pairs;
  int64_t tile_rows, tiles;
  const T *weights, *bias;  // weights [group][tile][kernel_h][kernel_w][source_channels][tile_rows]

  int64_t result_plane() const { return rows.places * cols.places; }
  int64_t depth() const { return kernel_h * kernel_w * source_channels; }
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

// to[place][channel][lane] = from[lane * image_stride + channel * plane + place] (to has `stride` channels
// per position). Lanes beyond `images` are zero.
template <class T>
void gather_lanes(const T* from, int64_t image_stride, int64_t images, int64_t channels, int64_t plane, int64_t stride,
                  T* to) {
  constexpr int64_t kWidth = kLanes<T>;
  LanePlace at{plane, stride};
  const int64_t count = channels * plane;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    Vec<T> v[kWidth];
    for (int64_t lane = 0; lane < kWidth; ++lane)
      v[lane] = lane < images ? load(from + lane * image_stride + i) : Vec<T>{};
    for (int64_t lane = 0; lane < images; ++lane) __builtin_prefetch(from + lane * image_stride + i + 4 * kWidth);
    transpose_lanes<T>(v);
    for (int64_t e = 0; e < kWidth; ++e) store(to + at.next() * kWidth, v[e]);
  }
  for (; i < count; ++i) {
    T* lanes = to + at.next() * kWidth;
    for (int64_t lane = 0; lane < kWidth; ++lane) lanes[lane] = lane < images ? from[lane * image_stride + i] : T(0);
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
    const T* lanes = from + at.next() * kWidth;
    for (int64_t lane = 0; lane < images; ++lane) to[lane * image_stride + i] = static_cast<R>(lanes[lane]);
  }
}

// Computes the result rows [begin, end) of one group of channels for kLanes images.
template <class T>
void convolve(const Plan<T>& plan, const T* source, int64_t group, int64_t begin, int64_t end, T* result) {
  constexpr int64_t kWidth = kLanes<T>;
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(plan.tile_rows), 1, plan.pairs);
  const int64_t channels = plan.source_channels, tile_size = plan.depth() * plan.tile_rows;
  const T* weights = plan.weights + group * plan.tiles * tile_size;
  const T* bias = plan.bias ? plan.bias + group * plan.padded_channels() : nullptr;
  auto* segments = scratch<TileSegment<T>>(Scratch::kConvColumns, plan.kernel_h * plan.kernel_w);
  result += begin * plan.cols.places * plan.padded_channels() * kWidth;
  for (int64_t p = begin; p < end; ++p) {
    for (int64_t q = 0; q < plan.cols.places; ++q) {
      const auto col_runs = plan.cols.at(q);
      int64_t count = 0;
      for (const Run& row : plan.rows.at(p))
        for (int64_t r = 0; r < row.count; ++r)
          for (const Run& col : col_runs)
            segments[count++] = {weights + ((row.tap + r) * plan.kernel_w + col.tap) * channels * plan.tile_rows,
                                 source + ((row.place + r) * plan.source_w + col.place) * channels * kWidth,
                                 col.count * channels};
      for (int64_t tile = 0; tile < plan.tiles; ++tile, result += plan.tile_rows * kWidth) {
        kernel({segments, count, kWidth, result, kWidth, T(1), false, bias ? bias + tile * plan.tile_rows : nullptr});
        for (int64_t i = 0; i < count; ++i) segments[i].a += tile_size;
      }
    }
  }
}

// Processes one group of channels for the kLanes images from `first` on. When called outside a parallel_for,
// its parts are distributed among the threads.
template <class T, class R>
void run_block(const Plan<T>& plan, const T* source, int64_t first, int64_t group, R* result) {
  constexpr int64_t kWidth = kLanes<T>, kChannels = 16;
  const int64_t images = std::min(kWidth, plan.batch - first), result_plane = plan.result_plane();
  const int64_t source_size = plan.source_channels * plan.source_plane;
  const int64_t result_size = plan.result_channels * result_plane;
  T* in = scratch<T>(Scratch::kConvInput, source_size * kWidth);
  T* out = scratch<T>(Scratch::kConvOutput, plan.padded_channels() * result_plane * kWidth);
  source += (first * plan.groups + group) * source_size;
  result += (first * plan.groups + group) * result_size;
  parallel_for(plan.source_channels, kChannels, [&](int64_t begin, int64_t end) {
    gather_lanes(source + begin * plan.source_plane, plan.groups * source_size, images, end - begin, plan.source_plane,
                 plan.source_channels, in + begin * kWidth);
  });
  parallel_for(plan.rows.places, 1, [&](int64_t begin, int64_t end) { convolve(plan, in, group, begin, end, out); });
  parallel_for(plan.result_channels, kChannels, [&](int64_t begin, int64_t end) {
    scatter_lanes(out + begin * kWidth, plan.padded_channels(), plan.groups * result_size, images, end - begin,
                  result_plane, result + begin * result_plane);
  });
}

template <class T, class R>
void run(const Plan<T>& plan, const T* source, R* result) {
  const int64_t blocks = (plan.batch + kLanes<T> - 1) / kLanes<T>, tasks = blocks * plan.groups;
  const auto run_tasks = [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) run_block(plan, source, i / plan.groups * kLanes<T>, i % plan.groups, result);
  };
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, run_tasks) : run_tasks(0, tasks);
}

// Chooses the tiles and packs the bias and the weights, which are given by
// `weight(group, result channel, source channel, kernel place)`.
template <class T, class F>
void pack(Plan<T>& plan, const T* bias, F weight) {
  const int64_t most = kMaxTileRows[1];
  plan.tiles = (plan.result_channels + most - 1) / most;
  plan.tile_rows = (plan.result_channels + plan.tiles - 1) / plan.tiles;
  const int64_t tile_size = plan.depth() * plan.tile_rows, all_tiles = plan.groups * plan.tiles;
  T* packed = scratch<T>(Scratch::kConvWeight, all_tiles * (tile_size + plan.tile_rows));
  T* packed_bias = packed + all_tiles * tile_size;
  parallel_for(all_tiles, std::max<int64_t>(1, 16384 / tile_size), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / plan.tiles, first = t % plan.tiles * plan.tile_rows;
      T* to = packed + t * tile_size;
      for (int64_t k = 0; k < plan.kernel_h * plan.kernel_w; ++k)
        for (int64_t c = 0; c < plan.source_channels; ++c)
          for (int64_t r = first; r < first + plan.tile_rows; ++r)
            *to++ = r < plan.result_channels ? weight(group, r, c, k) : T(0);
      for (int64_t r = first; r < first + plan.tile_rows; ++r)
        packed_bias[t * plan.tile_rows + r - first] =
            bias && r < plan.result_channels ? bias[group * plan.result_channels + r] : T(0);
    }
  });
  plan.weights = packed;
  plan.bias = bias ? packed_bias : nullptr;
}

}  // namespace

template <class T>
void lanes_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  Plan<T> plan{.rows = forward_axis(Scratch::kConvRows, s.p, 0, s.in_h, s.kernel_h),
               .cols = forward_axis(Scratch::kConvCols, s.p, 1, s.in_w, s.kernel_w),
               .batch = s.batch,
               .groups = s.p.groups,
               .source_channels = s.group_in(),
               .source_plane = s.in_plane(),
               .source_w = s.in_w,
               .result_channels = s.group_out(),
               .kernel_h = s.kernel_h,
               .kernel_w = s.kernel_w,
               .pairs = s.pairs};
  pack(plan, e.bias, [&](int64_t group, int64_t o, int64_t c, int64_t k) {
    return weight_at(s, w, group * s.group_out() + o, c * s.kernel_size() + k);
  });
  if constexpr (std::is_same_v<T, float>)
    if (s.pairs) return run(plan, x, reinterpret_cast<BFloat16*>(e.rounded.y));
  run(plan, x, y);
}

template <class T>
void lanes_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  Plan<T> plan{.rows = backward_axis(Scratch::kConvRows, s.p, 0, s.in_h, s.kernel_h),
               .cols = backward_axis(Scratch::kConvCols, s.p, 1, s.in_w, s.kernel_w),
               .batch = s.batch,
               .groups = s.p.groups,
               .source_channels = s.group_out(),
               .source_plane = s.out_plane(),
               .source_w = s.out_w(),
               .result_channels = s.group_in(),
               .kernel_h = s.kernel_h,
               .kernel_w = s.kernel_w,
               .pairs = s.pairs};
  pack(plan, static_cast<const T*>(nullptr), [&](int64_t group, int64_t c, int64_t o, int64_t k) {
    return w[((group * s.group_out() + o) * s.group_in() + c) * s.kernel_size() + s.kernel_size() - 1 - k];
  });
  run(plan, dy, dx);
}

#define TANDEM_INSTANTIATE(T)                                                                                 \
  template void lanes_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void lanes_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
