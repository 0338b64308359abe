// Convolution with panels of columns (conv2d_columns.h).
#include "tandem/core/cpu/conv/conv2d_columns.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_epilogue.h"
#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlockBytes = 384 << 10;  // of columns built at once
constexpr int64_t kTaskWork = 1 << 18;      // minimum multiplications per task

template <class T>
struct Plan {
  static constexpr int64_t kPanel = 2 * kLanes<T>;
  const Conv2dShape& s;
  const T* x;
  InputLine<T> lines;
  int64_t places, positions, depth;  // positions: the places of all images
  int64_t tiles, tile_rows;          // of the output channels of one group
  int64_t block, blocks;             // positions in a block (whole panels); blocks of one group
  Conv2dInference<T> inference;
  WeightTiles<T> packed{};

  Plan(const Conv2dShape& shape, const T* source, const Conv2dInference<T>& besides = {})
      : s(shape),
        x(source),
        lines(shape, source),
        places(s.out_plane()),
        positions(s.batch * places),
        depth(s.depth()),
        inference(besides) {
    tiles = ceil_div(s.group_out(), kMaxTileRows[2]);
    tile_rows = ceil_div(s.group_out(), tiles);
    const int64_t fit = kBlockBytes / (depth * kPanel * static_cast<int64_t>(sizeof(T)));
    block = std::clamp<int64_t>(fit, 2, std::max<int64_t>(2, ceil_div(positions, kPanel))) * kPanel;
    blocks = ceil_div(positions, block);
  }
};

// panels[panel][depth][kPanel] of the positions [first, first + count) of one group.
template <class T>
void make_panels(const Plan<T>& plan, int64_t group, int64_t first, int64_t count, T* panels) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const int64_t width = ceil_div(count, kPanel) * kPanel;
  T* line = panels + plan.block * plan.depth;  // with one spare vector at its end
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

// The outputs of `count` positions from `first`, which may be in several images: from[r * kPanel + i] is that of row r.
template <class T>
void copy_out(const Plan<T>& plan, int64_t channel, int64_t rows, int64_t first, int64_t count, const T* from, T* y) {
  for (int64_t i = 0; i < count;) {
    const int64_t image = (first + i) / plan.places, place = (first + i) % plan.places,
                  here = std::min(count - i, plan.places - place);
    const int64_t at = (image * plan.s.out_channels + channel) * plan.places + place;
    for (int64_t r = 0; r < rows; ++r) std::copy_n(from + r * Plan<T>::kPanel + i, here, y + at + r * plan.places);
    finish_rows(plan.inference, y, at, rows, plan.places, here);
    i += here;
  }
}

// The outputs of the positions [first, first + count) in the panels.
template <class T>
void multiply_panels(const Plan<T>& plan, int64_t group, const T* panels, int64_t first, int64_t count, T* y) {
  constexpr int64_t kPanel = Plan<T>::kPanel;
  const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(plan.tile_rows), 2);
  T* edge = scratch<T>(Scratch::kGemmTile, plan.tile_rows * kPanel);
  for (int64_t j = 0; j < count; j += kPanel) {
    const int64_t columns = std::min(kPanel, count - j), image = (first + j) / plan.places,
                  place = (first + j) % plan.places;
    const bool in_place = columns == kPanel && place + kPanel <= plan.places;
    for (int64_t tile = 0; tile < plan.tiles; ++tile) {
      const int64_t row = tile * plan.tile_rows, rows = std::min(plan.tile_rows, plan.s.group_out() - row),
                    channel = group * plan.s.group_out() + row;
      const int64_t packed_row = (group * plan.tiles + tile) * plan.tile_rows;
      const TileSegment<T> segment{plan.packed.weights + packed_row * plan.depth, panels + j * plan.depth, plan.depth};
      const T* bias = plan.packed.bias ? plan.packed.bias + packed_row : nullptr;
      if (in_place && rows == plan.tile_rows) {
        const int64_t at = (image * plan.s.out_channels + channel) * plan.places + place;
        const T* residual = plan.inference.residual;
        kernel({&segment, 1, kPanel, y + at, plan.places, T(1), false, bias, residual ? residual + at : nullptr,
                plan.inference.relu});
        continue;
      }
      kernel({&segment, 1, kPanel, edge, kPanel, T(1), false, bias});
      copy_out(plan, channel, rows, first + j, columns, edge, y);
    }
  }
}

// `fill` as pack_weight_tiles calls it.
template <class T, class F>
void pack(Plan<T>& plan, const T* bias, F fill) {
  plan.packed =
      pack_weight_tiles(plan.inference, plan.s.p.groups, plan.s.group_out(), plan.depth, plan.tile_rows, bias, fill);
}

template <class T>
void run(const Plan<T>& plan, T* y) {
  const Conv2dShape& s = plan.s;
  const int64_t work = plan.depth * std::min(plan.block, plan.positions) * s.group_out();
  const int64_t tasks = s.p.groups * plan.blocks, grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    T* panels = scratch<T>(Scratch::kConvColumns, plan.block * (plan.depth + 1) + kLanes<T>);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / plan.blocks, first = t % plan.blocks * plan.block;
      const int64_t count = std::min(plan.block, plan.positions - first);
      make_panels(plan, group, first, count, panels);
      multiply_panels(plan, group, panels, first, count, y);
    }
  });
}

}  // namespace

template <class T>
void columns_forward(const Conv2dShape& s, const T* x, const T* w, const T* bias, T* y,
                     const Conv2dInference<T>& inference) {
  if (s.batch == 0) return;
  Plan<T> plan(s, x, inference);
  pack(plan, bias, [&](int64_t group, int64_t first, int64_t rows, T* to) {
    transpose(rows, plan.depth, w + (group * s.group_out() + first) * plan.depth, plan.depth, to, plan.tile_rows);
  });
  run(plan, y);
}

template <class T>
void columns_backward_input(const Conv2dShape& s, const T* dy, const T* w, T* dx) {
  if (s.batch == 0) return;
  const Conv2dShape turned = s.turned();
  Plan<T> plan(turned, dy);
  const int64_t taps = s.kernel_size();
  pack(plan, static_cast<const T*>(nullptr), [&](int64_t group, int64_t first, int64_t rows, T* to) {
    for (int64_t o = 0; o < s.group_out(); ++o)
      for (int64_t r = 0; r < rows; ++r) {
        const T* from = w + ((group * s.group_out() + o) * s.group_in() + first + r) * taps;
        for (int64_t tap = 0; tap < taps; ++tap) to[(o * taps + taps - 1 - tap) * plan.tile_rows + r] = from[tap];
      }
  });
  run(plan, dx);
}

template void columns_forward<float>(const Conv2dShape&, const float*, const float*, const float*, float*,
                                     const Conv2dInference<float>&);
template void columns_forward<double>(const Conv2dShape&, const double*, const double*, const double*, double*,
                                      const Conv2dInference<double>&);
template void columns_backward_input<float>(const Conv2dShape&, const float*, const float*, float*);
template void columns_backward_input<double>(const Conv2dShape&, const double*, const double*, double*);

}  // namespace tandem::cpu
