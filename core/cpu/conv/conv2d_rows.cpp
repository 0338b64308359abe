// The gradient of a convolution with respect to its weights, without columns.
//
// Images are laid out as [height][width][channels] with their padding, gradients of the output as [place][channels].
// The inputs of one output position that belong to one kernel row are then contiguous, and vectors of them are
// multiplied by the output channels in register tiles. The batch is split into parts by the shape alone; each part sums
// its images in order, and the parts are added in order. Of a large image, a band of output rows is laid out at a time,
// which stays in the L2 cache; a few rows at a time are multiplied, whose gradients stay in the L1 cache.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kEnoughTasks = 8;  // with fewer, each task is itself split among the threads

// How weights and images are split. A run is a piece of the weights' columns (kernel row, kernel column,
// channel) with contiguous inputs: a kernel row, or one kernel column of it if dilated. Whole blocks of `width` columns
// of a run are read in place; the remainders of all runs are packed side by side in `rest_blocks` blocks.
template <class T>
struct Layout {
  const Conv2dShape& s;
  int64_t channels, padded_w;  // of one group of one image, with padding
  // Columns of one tile: one vector, or two of pairs, as broadcasts of the left operand would take longer than products.
  int64_t width, vectors;
  int64_t runs, run_length, run_blocks, run_rest, rest_blocks;
  int64_t tile_rows, tiles, out_w;
  int64_t parts, part_images;
  int64_t block_images, band_rows;  // output rows of a band: all, or block_images is 1
  int64_t step;                     // output rows multiplied at once
  bool has_ones;                    // whether a column of ones after the remainders computes the gradient of the bias

  explicit Layout(const Conv2dShape& shape) : s(shape) {
    vectors = s.pairs ? 2 : 1;
    width = vectors * kLanes<T>;
    channels = s.group_in();
    padded_w = s.padded_w();
    const bool whole_rows = s.p.dilation[1] == 1;
    runs = whole_rows ? s.kernel_h : s.kernel_size();
    run_length = whole_rows ? s.kernel_w * channels : channels;
    run_blocks = run_length / width;
    run_rest = run_length % width;
    const WeightSum order = conv2d_order::rows_sum<T>(s);
    has_ones = order.ones;
    rest_blocks = ceil_div(runs * run_rest + (has_ones ? 1 : 0), width);
    tiles = ceil_div(s.group_out(), kMaxTileRows[vectors]);
    tile_rows = ceil_div(s.group_out(), tiles);
    out_w = s.out_w();
    part_images = order.part_images;
    parts = order.parts(s.batch);
    block_images = order.block_images;
    band_rows = order.band / block_images / out_w;
    step = order.piece / out_w;
  }

  // Elements of the packed input of `rows` output rows, of one group.
  int64_t band_size(int64_t rows) const { return s.rows_seen(rows) * padded_w * channels; }

  int64_t blocks() const { return runs * run_blocks + rest_blocks; }
  int64_t columns() const { return blocks() * width; }
  int64_t ones_column() const { return runs * run_rest; }
  int64_t rest_row() const { return rest_blocks * width; }
  int64_t partial_size() const { return tiles * tile_rows * columns(); }  // of one group
  // Start of a run, relative to the input of an output position's first tap.
  int64_t run_offset(int64_t run) const {
    const auto [dilation_h, dilation_w] = s.p.dilation;
    const int64_t row = dilation_w == 1 ? run : run / s.kernel_w, col = dilation_w == 1 ? 0 : run % s.kernel_w;
    return (row * dilation_h * padded_w + col * dilation_w) * channels;
  }
  int64_t place_offset(int64_t p, int64_t q) const {
    return (p * s.p.stride[0] * padded_w + q * s.p.stride[1]) * channels;
  }
  // Column of weight element `run_length * run + i` in a partial sum.
  int64_t column(int64_t run, int64_t i) const {
    const int64_t whole = run_blocks * width;
    return i < whole ? run * whole + i : runs * whole + run * run_rest + i - whole;
  }
};

// Packed images of one block, or a band of one image: `rows` output rows from `top` on.
template <class T>
struct Packed {
  T *images, *gradients,
      *rests;  // [image][h][w][channels], [tile][image][place][tile_rows], [image][place][rest_row]
  int64_t count, top, rows;
};

// to[h][padded_w][channels]: the input of a band.
template <class T>
void pack_image(const Layout<T>& l, const T* x, const Packed<T>& packed, T* to) {
  const Conv2dShape& s = l.s;
  const auto [pad_h, pad_w] = s.p.padding;
  const int64_t row = l.padded_w * l.channels, size = l.band_size(packed.rows),
                above = packed.top * s.p.stride[0] - pad_h;
  const int64_t first = std::clamp<int64_t>(above, 0, s.in_h),
                count = std::clamp<int64_t>(above + size / row, first, s.in_h) - first;
  if (pad_h == 0 && pad_w == 0)
    return transpose(l.channels, count * s.in_w, x + first * s.in_w, s.in_plane(), to, l.channels);
  T* plain = scratch<T>(Scratch::kConvOutput, count * s.in_w * l.channels);
  transpose(l.channels, count * s.in_w, x + first * s.in_w, s.in_plane(), plain, l.channels);
  std::fill_n(to, size, T(0));
  for (int64_t h = 0; h < count; ++h)
    std::copy_n(plain + h * s.in_w * l.channels, s.in_w * l.channels,
                to + (h + first - above) * row + pad_w * l.channels);
}

// Packs the remainders of the runs for every position. Copies whole vectors: elements written past a run are
// overwritten by the next run, or end up in unused columns or past the last position.
template <class T>
void pack_rest(const Layout<T>& l, int64_t rows, const T* image, T* to) {
  for (int64_t p = 0; p < rows; ++p) {
    for (int64_t q = 0; q < l.out_w; ++q, to += l.rest_row()) {
      const T* from = image + l.place_offset(p, q) + l.run_blocks * l.width;
      for (int64_t run = 0; run < l.runs; ++run)
        for (int64_t i = 0; i < l.width; i += kLanes<T>)
          store(to + run * l.run_rest + i, load(from + l.run_offset(run) + i));
      if (l.has_ones) to[l.ones_column()] = T(1);
    }
  }
}

// Prefetches the data that the next image is packed from: its rows are more streams than the hardware
// prefetcher can follow.
template <class T>
void prefetch(const T* from, int64_t count) {
  for (int64_t i = 0; i < count; i += kLanes<T>) __builtin_prefetch(from + i, 0, 2);
}

// Packs image `i` of the block; x and dy belong to one group of one image.
template <class T>
void pack_block_image(const Layout<T>& l, const T* x, const T* dy, int64_t i, const Packed<T>& packed) {
  T* image = packed.images + i * l.band_size(packed.rows);
  pack_image(l, x, packed, image);
  const int64_t places = packed.rows * l.out_w, plane = l.s.out_plane();
  for (int64_t tile = 0; tile < l.tiles; ++tile) {
    const int64_t rows = std::min(l.tile_rows, l.s.group_out() - tile * l.tile_rows);
    T* to = packed.gradients + (tile * packed.count + i) * places * l.tile_rows;
    transpose(rows, places, dy + tile * l.tile_rows * plane + packed.top * l.out_w, plane, to, l.tile_rows);
    if (rows < l.tile_rows)
      for (int64_t p = 0; p < places; ++p) std::fill(to + p * l.tile_rows + rows, to + (p + 1) * l.tile_rows, T(0));
  }
  if (l.rest_blocks > 0) pack_rest(l, packed.rows, image, packed.rests + i * places * l.rest_row());
}

// partial[row][columns] of the blocks [begin, end) of the columns, all rows: (+)= the products of `count` output rows of
// the packed images, from `first` on.
template <class T>
void multiply_rows(const Layout<T>& l, const Packed<T>& packed, int64_t first, int64_t count, int64_t begin,
                   int64_t end, bool accumulate, T* partial) {
  const int64_t run_blocks = l.runs * l.run_blocks, image = l.band_size(packed.rows);
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(l.tile_rows), static_cast<int>(l.vectors), l.s.pairs);
  auto* segments = scratch<TileSegment<T>>(Scratch::kConvColumns, count);
  for (int64_t tile = 0; tile < l.tiles; ++tile) {
    const T* a = packed.gradients + (tile * packed.count * packed.rows + first) * l.out_w * l.tile_rows;
    for (int64_t v = begin; v < end; ++v) {
      int64_t pieces = 1, step = l.rest_row();
      if (v < run_blocks) {
        step = l.s.p.stride[1] * l.channels, pieces = count;
        const T* b = packed.images + l.run_offset(v / l.run_blocks) + v % l.run_blocks * l.width;
        for (int64_t r = first; r < first + count; ++r)
          segments[r - first] = {a + (r - first) * l.out_w * l.tile_rows,
                                 b + r / packed.rows * image + l.place_offset(r % packed.rows, 0), l.out_w};
      } else {
        segments[0] = {a, packed.rests + (v - run_blocks) * l.width + first * l.out_w * step, count * l.out_w};
      }
      kernel({segments, pieces, step, partial + tile * l.tile_rows * l.columns() + v * l.width, l.columns(), T(1),
              accumulate});
    }
  }
}

// Sums the images of one part, for one group.
template <class T>
void sum_part(const Layout<T>& l, const T* x, const T* dy, int64_t part, int64_t group, T* partial) {
  const Conv2dShape& s = l.s;
  const int64_t last = std::min(s.batch, (part + 1) * l.part_images);
  const int64_t places = l.band_rows * l.out_w, band = l.band_size(l.band_rows), plane = s.out_plane();
  Packed<T> packed{scratch<T>(Scratch::kConvInput, l.block_images * (band + places * l.rest_row()) + 2 * l.width),
                   scratch<T>(Scratch::kConvWeight, l.block_images * l.tiles * l.tile_rows * places),
                   nullptr,
                   0,
                   0,
                   0};
  packed.rests = packed.images + l.block_images * band + l.width;
  const auto add = [&](int64_t first) {
    packed.rows = std::min(l.band_rows, s.out_h() - packed.top);
    parallel_for_each(packed.count, 1, [&](int64_t i) {
      const int64_t at = (first + i) * s.p.groups + group, next = at + s.p.groups;
      if (first + i + 1 < s.batch && packed.rows == s.out_h()) {
        prefetch(x + next * l.channels * s.in_plane(), l.channels * s.in_plane());
        prefetch(dy + next * s.group_out() * plane, s.group_out() * plane);
      }
      pack_block_image(l, x + at * l.channels * s.in_plane(), dy + at * s.group_out() * plane, i, packed);
    });
    const bool more = first > part * l.part_images || packed.top > 0;
    parallel_for(l.blocks(), 4, [&](int64_t begin, int64_t end) {
      const int64_t rows = packed.count * packed.rows;
      for (int64_t r = 0; r < rows; r += l.step)
        multiply_rows(l, packed, r, std::min(l.step, rows - r), begin, end, more || r > 0, partial);
    });
  };
  for (int64_t first = part * l.part_images; first < last; first += l.block_images) {
    packed.count = std::min(l.block_images, last - first);
    for (packed.top = 0; packed.top < s.out_h(); packed.top += l.band_rows) add(first);
  }
}

// dw and db (if not null) of output channel `o`: the parts added in order and rearranged to [channel][kernel
// row][kernel column].
template <class T>
void add_parts(const Layout<T>& l, const T* partial, int64_t o, T* dw, T* db) {
  const Conv2dShape& s = l.s;
  const int64_t group = o / s.group_out(), columns = l.columns();
  const T* from = partial + group * l.partial_size() + o % s.group_out() * columns;
  T* sum = scratch<T>(Scratch::kConvColumns, columns);
  std::copy_n(from, columns, sum);
  for (int64_t part = 1; part < l.parts; ++part) {
    from += s.p.groups * l.partial_size();
    for (int64_t i = 0; i < columns; ++i) sum[i] += from[i];
  }
  if (db) db[o] = sum[l.runs * l.run_blocks * l.width + l.ones_column()];
  for (int64_t run = 0; run < l.runs; ++run) {
    for (int64_t i = 0; i < l.run_length; i += l.channels) {
      const int64_t tap = run * l.run_length / l.channels + i / l.channels;
      for (int64_t c = 0; c < l.channels; ++c)
        dw[(o * l.channels + c) * s.kernel_size() + tap] = sum[l.column(run, i + c)];
    }
  }
}

}  // namespace

template <class T>
bool rows_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw, T* db) {
  const Layout<T> layout(s);
  if (!layout.has_ones) db = nullptr;
  const int64_t tasks = layout.parts * s.p.groups;
  const Workspace<T> memory(tasks * layout.partial_size());
  T* partial = memory.data();
  const auto sum_tasks = [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t)
      sum_part(layout, x, dy, t / s.p.groups, t % s.p.groups, partial + t * layout.partial_size());
  };
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, sum_tasks) : sum_tasks(0, tasks);
  parallel_for_each(s.out_channels, std::max<int64_t>(1, 16384 / (layout.columns() * layout.parts)),
                    [&](int64_t o) { add_parts(layout, partial, o, dw, db); });
  return db != nullptr;
}

#define TANDEM_INSTANTIATE(T) template bool rows_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
