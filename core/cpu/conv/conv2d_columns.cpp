// Convolution of any shape as a matrix product with columns (im2col). The forward pass builds them panel by panel in
// the cache; they never exist as a whole, and not at all where the planes are the columns and few products read them. The
// gradients need the columns of one group of one image at a time, or of a few images whose planes are small.
#include "tandem/core/cpu/conv/conv2d.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlockBytes = 384 << 10;  // of columns built at once in the forward pass
constexpr int64_t kTaskWork = 1 << 18;      // minimum multiplications per task
constexpr int64_t kEnoughTasks = 8;         // with fewer, each task is itself split among the threads

template <class T>
struct Plan {
  static constexpr int64_t kPanel = 2 * kLanes<T>;
  const Conv2dShape& s;
  const T* x;
  InputLine<T> lines;
  int64_t places, positions, depth;  // positions: the places of all images
  int64_t tiles, tile_rows;          // of the output channels of one group
  int64_t block, blocks;             // positions in a block (whole panels); blocks of one group
  bool in_planes;                    // whether panels are read where they are in planes
  const Epilogue<T>& epilogue;
  WeightTiles<T> packed{};

  Plan(const Conv2dShape& shape, const T* source, const Epilogue<T>& e)
      : s(shape),
        x(source),
        lines(shape, source),
        places(s.out_plane()),
        positions(s.batch * places),
        depth(s.depth()),
        epilogue(e) {
    tiles = ceil_div(s.group_out(), kMaxTileRows[2]);
    tile_rows = ceil_div(s.group_out(), tiles);
    const int64_t fit = kBlockBytes / (depth * kPanel * static_cast<int64_t>(sizeof(T)));
    block = std::clamp<int64_t>(fit, 2, std::max<int64_t>(2, ceil_div(positions, kPanel))) * kPanel;
    in_planes = s.is_pointwise() && s.group_out() <= 64;
    if (in_planes) block = std::min<int64_t>(block, 4 * kPanel);
    blocks = ceil_div(positions, block);
  }
  // Whether `columns` positions from `first` on are a whole panel of one image.
  bool is_whole(int64_t first, int64_t columns) const { return columns == kPanel && first % places + kPanel <= places; }
};

// panels[panel][depth][kPanel] of the positions [first, first + count) of one group.
template <class T>
void make_panels(const Plan<T>& plan, int64_t group, int64_t first, int64_t count, T* panels, T* line) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const int64_t width = ceil_div(count, kPanel) * kPanel;
  for (int64_t k = 0; k < plan.depth; ++k) {
    make_line(plan.s, plan.lines, plan.x, group, k, first, count, line);
    std::fill(line + count, line + width, T(0));
    for (int64_t j = 0; j < width; j += kPanel) {
      T* to = panels + j * plan.depth + k * kPanel;
      store(to, load(line + j));
      store(to + kLanes<T>, load(line + j + kLanes<T>));
    }
  }
}

// The outputs of `count` positions from `first`, which may be in several images: from[r * kPanel + i] belongs to row r.
template <class T>
void copy_out(const Plan<T>& plan, int64_t channel, int64_t rows, int64_t first, int64_t count, T* from, T* y) {
  for (int64_t i = 0; i < count;) {
    const int64_t image = (first + i) / plan.places, place = (first + i) % plan.places,
                  here = std::min(count - i, plan.places - place);
    const int64_t at = (image * plan.s.out_channels + channel) * plan.places + place;
    put_rows(plan.epilogue, from + i, Plan<T>::kPanel, y, at, rows, plan.places, here);
    i += here;
  }
}

// The outputs of the positions [first, first + count) in the panels. In planes, a tile of weights takes all panels, because
// memory moves long pieces of rows faster than short ones; otherwise a panel in the cache takes all tiles.
template <class T>
void multiply_panels(const Plan<T>& plan, int64_t group, const T* panels, int64_t first, int64_t count, T* y) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(plan.tile_rows), 2, plan.s.pairs);
  T* edge = scratch<T>(Scratch::kGemmTile, plan.tile_rows * kPanel);
  const RoundedOutput& rounded = plan.epilogue.rounded;
  const int64_t here = ceil_div(count, kPanel);
  for (int64_t t = 0; t < here * plan.tiles; ++t) {
    const int64_t j = (plan.in_planes ? t % here : t / plan.tiles) * kPanel,
                  tile = plan.in_planes ? t / here : t % plan.tiles;
    const int64_t columns = std::min(kPanel, count - j), image = (first + j) / plan.places,
                  place = (first + j) % plan.places;
    const int64_t row = tile * plan.tile_rows, rows = std::min(plan.tile_rows, plan.s.group_out() - row),
                  channel = group * plan.s.group_out() + row, packed_row = (group * plan.tiles + tile) * plan.tile_rows;
    const bool whole = plan.is_whole(first + j, columns);
    const T* plane = plan.x + (image * plan.s.p.groups + group) * plan.depth * plan.places + place;
    const TileSegment<T> segment{plan.packed.weights + packed_row * plan.depth,
                                 plan.in_planes && whole ? plane : panels + j * plan.depth, plan.depth};
    const int64_t step = plan.in_planes && whole ? plan.places : kPanel;
    const T* bias = plan.packed.bias ? plan.packed.bias + packed_row : nullptr;
    if (whole && rows == plan.tile_rows && rounded.residual == nullptr) {
      const int64_t at = (image * plan.s.out_channels + channel) * plan.places + place;
      const T* residual = plan.epilogue.residual;
      if (plan.in_planes) prefetch_rows(plan.epilogue, y, at, rows, plan.places, kPanel);
      kernel({&segment, 1, step, rounded.y ? nullptr : y + at, plan.places, T(1), false, bias,
              residual ? residual + at : nullptr, plan.epilogue.activation, rounded.y ? rounded.y + at : nullptr});
      continue;
    }
    kernel({&segment, 1, step, edge, kPanel, T(1), false, bias});
    copy_out(plan, channel, rows, first + j, columns, edge, y);
  }
}

}  // namespace

template <class T>
void columns_forward(const Conv2dShape& s, const T* x, const ConvWeight<T>& w, T* y, const Epilogue<T>& e) {
  Plan<T> plan(s, x, e);
  plan.packed = pack_weight_tiles(s, w, plan.tile_rows, e.bias);
  const int64_t work = plan.depth * std::min(plan.block, plan.positions) * s.group_out();
  const int64_t tasks = s.p.groups * plan.blocks, grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    T* panels = scratch<T>(Scratch::kConvColumns, plan.block * (plan.depth + 1) + kLanes<T>);
    T* line = panels + plan.block * plan.depth;  // with one spare vector at its end
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / plan.blocks, first = t % plan.blocks * plan.block;
      const int64_t count = std::min(plan.block, plan.positions - first);
      for (int64_t j = 0; plan.in_planes && j < count; j += kPanel<T>) {
        const int64_t columns = std::min(kPanel<T>, count - j);
        if (!plan.is_whole(first + j, columns))
          make_panels(plan, group, first + j, columns, panels + j * plan.depth, line);
      }
      if (!plan.in_planes) make_panels(plan, group, first, count, panels, line);
      multiply_panels(plan, group, panels, first, count, y);
    }
  });
}

// Small planes of several images are multiplied together: each product reads all weights.
template <class T>
void columns_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  const int64_t plane = s.out_plane(), depth = s.depth();
  const int64_t rows = conv2d_order::backward_input_rows<T>(s),
                images = plane >= 64 ? 1
                                     : std::clamp<int64_t>(
                                           conv2d_order::kColumnBytes / (std::max(depth, s.group_out()) * plane *
                                                                         static_cast<int64_t>(sizeof(T))),
                                           1, s.batch),
                width = images * rows * s.out_w(), chunks = ceil_div(s.batch, images), tasks = chunks * s.p.groups;
  const auto run = [&](int64_t begin, int64_t end) {
    T* columns = scratch<T>(Scratch::kConvColumns, depth * width);
    T* together = images == 1 ? nullptr : scratch<T>(Scratch::kConvInput, s.group_out() * width);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t % s.p.groups, image = t / s.p.groups * images, count = std::min(images, s.batch - image);
      const T* from = dy + (image * s.p.groups + group) * s.group_out() * plane;
      if (images > 1)
        parallel_for_each(s.group_out(), std::max<int64_t>(1, 16384 / (count * plane)), [&](int64_t o) {
          for (int64_t n = 0; n < count; ++n)
            std::copy_n(from + (n * s.out_channels + o) * plane, plane, together + (o * count + n) * plane);
        });
      for (int64_t first = 0; first < s.out_h(); first += rows) {
        const int64_t here = std::min(rows, s.out_h() - first);
        gemm<T>({.m = depth,
                 .n = count * here * s.out_w(),
                 .k = s.group_out(),
                 .a = w + group * s.group_out() * depth,
                 .lda = depth,
                 .trans_a = true,
                 .b = images > 1 ? together : from + first * s.out_w(),
                 .ldb = count * plane,
                 .c = columns,
                 .ldc = width,
                 .pairs = s.pairs});
        parallel_for_each(count * s.group_in(), 1, [&](int64_t i) {
          const int64_t n = i / s.group_in(), c = i % s.group_in();
          T* to = dx + ((image + n) * s.in_channels + group * s.group_in() + c) * s.in_plane();
          if (first == 0) std::fill_n(to, s.in_plane(), T(0));
          for (int64_t tap = 0; tap < s.kernel_size(); ++tap)
            add_column(s, tap, first, here, columns + (c * s.kernel_size() + tap) * width + n * plane, to);
        });
      }
    }
  };
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, run) : run(0, tasks);
}

template <class T>
void columns_backward_weight(const Conv2dShape& s, const T* x, const T* dy, T* dw) {
  const int64_t plane = s.out_plane(), depth = s.depth(), weights = s.out_channels * depth;
  const WeightSum order = conv2d_order::columns_sum<T>(s);
  const int64_t images = order.part_images, parts = order.parts(s.batch), width = order.band;
  const int64_t step = width + kLanes<T>;  // between columns: a line may be written up to one vector past its end
  const Workspace<T> memory(parts * weights);
  T* partial = memory.data();
  const InputLine<T> lines(s, x);
  const auto run = [&](int64_t begin, int64_t end) {
    T* columns = s.is_pointwise() ? nullptr : scratch<T>(Scratch::kConvColumns, depth * step);
    for (int64_t part = begin; part < end; ++part) {
      T* sum = partial + part * weights;
      std::fill_n(sum, weights, T(0));
      for (int64_t i = part * images * s.p.groups; i < std::min(s.batch, (part + 1) * images) * s.p.groups; ++i) {
        const int64_t group = i % s.p.groups;
        for (int64_t first = 0; first < plane; first += width) {
          const int64_t count = std::min(width, plane - first);
          if (columns != nullptr)
            parallel_for_each(depth, std::max<int64_t>(1, 16384 / width), [&](int64_t k) {
              make_line(s, lines, x, group, k, i / s.p.groups * plane + first, count, columns + k * step);
            });
          gemm<T>({.m = s.group_out(),
                   .n = depth,
                   .k = count,
                   .a = dy + i * s.group_out() * plane + first,
                   .lda = plane,
                   .b = columns != nullptr ? columns : x + i * s.group_in() * plane,
                   .ldb = columns != nullptr ? step : plane,
                   .trans_b = true,
                   .c = sum + group * s.group_out() * depth,
                   .ldc = depth,
                   .beta = 1,
                   .pairs = s.pairs});
        }
      }
    }
  };
  parts >= kEnoughTasks ? parallel_for(parts, 1, run) : run(0, parts);
  parallel_for(weights, 16384, [&](int64_t begin, int64_t end) {
    std::fill(dw + begin, dw + end, T(0));
    for (int64_t part = 0; part < parts; ++part)
      for (int64_t i = begin; i < end; ++i) dw[i] += partial[part * weights + i];
  });
}

#define TANDEM_INSTANTIATE(T)                                                                                   \
  template void columns_backward_weight<T>(const Conv2dShape&, const T*, const T*, T*);                         \
  template void columns_forward<T>(const Conv2dShape&, const T*, const ConvWeight<T>&, T*, const Epilogue<T>&); \
  template void columns_backward_input<T>(const Conv2dShape&, const T*, const T*, T*);
TANDEM_INSTANTIATE(float)
TANDEM_INSTANTIATE(double)

}  // namespace tandem::cpu
