// Half types as conv2d_columns.cpp does float32: the forward pass builds panels of the columns in the cache, in float32 or
// in pairs of bfloat16 (microkernel.h), and rounds the sums where they are.
#include "tandem/core/cpu/conv/conv2d_half.h"

#include <algorithm>

#include "tandem/core/cpu/conv/conv2d_line.h"
#include "tandem/core/cpu/conv/conv2d_tiles.h"
#include "tandem/core/cpu/linalg/gemm_half.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/pack_half.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kPanel = 2 * kLanes<float>;
constexpr int64_t kBlockBytes = 384 << 10;  // of columns built at once in the forward pass
constexpr int64_t kColumnBytes = 4 << 20;   // the same in the gradients
constexpr int64_t kTaskWork = 1 << 18;      // minimum multiplications per task
constexpr int64_t kEnoughTasks = 8;         // with fewer, each task is itself split among the threads
constexpr int64_t kMaxParts = 16, kMaxPartialElements = 8 << 20;

struct Plan {
  const HalfPacking packing;
  const Conv2dShape& s;
  const uint16_t* x;
  InputLine<uint16_t> lines;
  int64_t places, positions, depth, packed;  // positions: the places of all images; packed: elements of four bytes
  int64_t tiles, tile_rows;                  // of the output channels of one group
  int64_t block, blocks;                     // positions in a block (whole panels); blocks of one group
  const HalfEpilogue& epilogue;
  WeightTiles<float> weights{};

  Plan(ScalarType type, const Conv2dShape& shape, const uint16_t* source, const HalfEpilogue& e)
      : packing(type),
        s(shape),
        x(source),
        lines(shape, source),
        places(s.out_plane()),
        positions(s.batch * places),
        depth(s.depth()),
        packed(packing.packed(depth)),
        epilogue(e) {
    tiles = ceil_div(s.group_out(), kMaxTileRows[2]);
    tile_rows = ceil_div(s.group_out(), tiles);
    const int64_t fit = kBlockBytes / (packed * kPanel * static_cast<int64_t>(sizeof(float)));
    block = std::clamp<int64_t>(fit, 2, std::max<int64_t>(2, ceil_div(positions, kPanel))) * kPanel;
    blocks = ceil_div(positions, block);
  }
};

// panels[panel][packed][kPanel] of the positions [first, first + count) of one group. Two lines follow them.
void make_panels(const Plan& plan, int64_t group, int64_t first, int64_t count, float* panels) {
  const int64_t width = ceil_div(count, kPanel) * kPanel;
  auto* line = reinterpret_cast<uint16_t*>(panels + plan.block * plan.packed);
  uint16_t* second = line + plan.block + kLanes<uint16_t>;
  const int64_t step = plan.packing.pairs ? 2 : 1;
  for (int64_t k = 0; k < plan.depth; k += step) {
    make_line(plan.s, plan.lines, plan.x, group, k, first, count, line);
    std::fill(line + count, line + width, uint16_t{0});
    if (plan.packing.pairs) {
      if (k + 1 < plan.depth)
        make_line(plan.s, plan.lines, plan.x, group, k + 1, first, count, second);
      else
        std::fill_n(second, count, uint16_t{0});
      std::fill(second + count, second + width, uint16_t{0});
    }
    float* to = panels + k / step * kPanel;
    for (int64_t j = 0; j < width; j += kPanel, to += plan.packed * kPanel)
      plan.packing.row(line + j, second + j, kPanel, to);
  }
}

// The outputs of `count` positions from `first`, which may be in several images: from[r * kPanel + i] is that of row r.
void copy_out(const Plan& plan, int64_t channel, int64_t rows, int64_t first, int64_t count, float* from, uint16_t* y) {
  const HalfEpilogue& e = plan.epilogue;
  for (int64_t i = 0; i < count;) {
    const int64_t image = (first + i) / plan.places, place = (first + i) % plan.places,
                  here = std::min(count - i, plan.places - place);
    const int64_t at = (image * plan.s.out_channels + channel) * plan.places + place;
    for (int64_t r = 0; r < rows; ++r) {
      float* row = from + r * kPanel + i;
      if (e.residual != nullptr) {
        float added[kPanel];
        widen(plan.packing.type, added, e.residual + at + r * plan.places, here);
        for (int64_t q = 0; q < here; ++q) row[q] += added[q];
      }
      if (e.relu)
        for (int64_t q = 0; q < here; ++q) row[q] = row[q] < 0 ? 0 : row[q];
      narrow(plan.packing.type, y + at + r * plan.places, row, here);
    }
    i += here;
  }
}

// The outputs of the positions [first, first + count) in the panels.
void multiply_panels(const Plan& plan, int64_t group, const float* panels, int64_t first, int64_t count, uint16_t* y) {
  const TileKernel<float> kernel = plan.packing.kernel(static_cast<int>(plan.tile_rows), 2);
  const HalfEpilogue& e = plan.epilogue;
  float* edge = scratch<float>(Scratch::kGemmTile, plan.tile_rows * kPanel);
  for (int64_t j = 0; j < count; j += kPanel) {
    const int64_t columns = std::min(kPanel, count - j), image = (first + j) / plan.places,
                  place = (first + j) % plan.places;
    const bool in_place =
        plan.packing.pairs && e.residual == nullptr && columns == kPanel && place + kPanel <= plan.places;
    for (int64_t tile = 0; tile < plan.tiles; ++tile) {
      const int64_t row = tile * plan.tile_rows, rows = std::min(plan.tile_rows, plan.s.group_out() - row),
                    channel = group * plan.s.group_out() + row;
      const int64_t packed_row = (group * plan.tiles + tile) * plan.tile_rows;
      const TileSegment<float> segment{plan.weights.weights + packed_row * plan.packed, panels + j * plan.packed,
                                       plan.packed};
      const float* bias = plan.weights.bias ? plan.weights.bias + packed_row : nullptr;
      if (in_place && rows == plan.tile_rows) {
        kernel({.segments = &segment,
                .segment_count = 1,
                .b_step = kPanel,
                .c = nullptr,
                .ldc = plan.places,
                .row_bias = bias,
                .relu = e.relu,
                .rounded = y + (image * plan.s.out_channels + channel) * plan.places + place});
        continue;
      }
      kernel({&segment, 1, kPanel, edge, kPanel, 1, false, bias});
      copy_out(plan, channel, rows, first + j, columns, edge, y);
    }
  }
}

// w rotated: [group][in channel][out channel][taps in reverse], the weights of turned().
void rotate(const Conv2dShape& s, const uint16_t* w, uint16_t* to) {
  const int64_t taps = s.kernel_size();
  parallel_for(s.in_channels, 1, [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) {
      const int64_t group = c / s.group_in(), channel = c % s.group_in();
      for (int64_t o = 0; o < s.group_out(); ++o) {
        const uint16_t* from = w + ((group * s.group_out() + o) * s.group_in() + channel) * taps;
        std::reverse_copy(from, from + taps, to + (c * s.group_out() + o) * taps);
      }
    }
  });
}

}  // namespace

bool half_conv_fits(const Conv2dShape& s) { return s.depth() >= 48 && s.group_out() >= 16 && s.group_in() >= 2; }

void half_conv_forward(ScalarType type, const Conv2dShape& s, const uint16_t* x, const ConvWeight<uint16_t>& w,
                       uint16_t* y, const HalfEpilogue& e) {
  Plan plan(type, s, x, e);
  float* bias = nullptr;
  if (e.bias != nullptr) {
    bias = scratch<float>(Scratch::kConvOutput, s.out_channels);
    widen(type, bias, e.bias, s.out_channels);
  }
  const auto fill = [&](int64_t group, int64_t first, int64_t rows, float* to) {
    const HalfLines lines{w.data + (group * s.group_out() + first) * plan.depth, plan.depth, true};
    plan.packing.panel(lines, rows, plan.tile_rows, plan.depth, to);
  };
  const ConvWeight<float> packed{nullptr, w.kept, w.tensor};  // `fill` reads the weights
  plan.weights = pack_weight_tiles(packed, s.p.groups, s.group_out(), plan.packed, plan.tile_rows, bias, fill);
  const int64_t work = plan.depth * std::min(plan.block, plan.positions) * s.group_out();
  const int64_t tasks = s.p.groups * plan.blocks, grain = std::max<int64_t>(1, kTaskWork / std::max<int64_t>(1, work));
  parallel_for(tasks, grain, [&](int64_t begin, int64_t end) {
    float* panels = scratch<float>(Scratch::kConvColumns, plan.block * (plan.packed + 1) + kLanes<uint16_t>);
    for (int64_t t = begin; t < end; ++t) {
      const int64_t group = t / plan.blocks, first = t % plan.blocks * plan.block;
      const int64_t count = std::min(plan.block, plan.positions - first);
      make_panels(plan, group, first, count, panels);
      multiply_panels(plan, group, panels, first, count, y);
    }
  });
}

void half_conv_backward_input(ScalarType type, const Conv2dShape& s, const uint16_t* dy, const uint16_t* w,
                              uint16_t* dx) {
  const int64_t depth = s.depth(), plane = s.out_plane();
  if (s.turns()) {
    const Workspace<uint16_t> rotated(s.out_channels * depth);
    rotate(s, w, rotated.data());
    return half_conv_forward(type, s.turned(), dy, {rotated.data()}, dx, {});
  }
  const int64_t row_bytes = depth * s.out_w() * static_cast<int64_t>(sizeof(float)),
                rows = std::clamp<int64_t>(kColumnBytes / row_bytes, 1, s.out_h()), width = rows * s.out_w();
  const int64_t tasks = s.batch * s.p.groups;
  const auto run = [&](int64_t begin, int64_t end) {
    float* columns = scratch<float>(Scratch::kConvColumns, depth * width);
    float* planes = scratch<float>(Scratch::kConvInput, s.group_in() * s.in_plane());
    for (int64_t i = begin; i < end; ++i)
      for (int64_t first = 0; first < s.out_h(); first += rows) {
        const int64_t here = std::min(rows, s.out_h() - first);
        half_gemm({.type = type,
                   .m = depth,
                   .n = here * s.out_w(),
                   .k = s.group_out(),
                   .a = w + i % s.p.groups * s.group_out() * depth,
                   .lda = depth,
                   .trans_a = true,
                   .b = dy + i * s.group_out() * plane + first * s.out_w(),
                   .ldb = plane,
                   .sums = columns,
                   .ldc = width});
        parallel_for(s.group_in(), 1, [&](int64_t begin_channel, int64_t end_channel) {
          for (int64_t c = begin_channel; c < end_channel; ++c) {
            float* to = planes + c * s.in_plane();
            if (first == 0) std::fill_n(to, s.in_plane(), 0.0f);
            for (int64_t tap = 0; tap < s.kernel_size(); ++tap)
              add_column(s, tap, first, here, columns + (c * s.kernel_size() + tap) * width, to);
            if (first + here == s.out_h()) narrow(type, dx + (i * s.group_in() + c) * s.in_plane(), to, s.in_plane());
          }
        });
      }
  };
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, run) : run(0, tasks);
}

// The depth of this product is the positions, of several images where the planes are small.
void half_conv_backward_weight(ScalarType type, const Conv2dShape& s, const uint16_t* x, const uint16_t* dy,
                               uint16_t* dw) {
  const int64_t plane = s.out_plane(), depth = s.depth(), weights = s.out_channels * depth;
  const int64_t most = std::clamp<int64_t>(kMaxPartialElements / weights, 1, kMaxParts);
  const int64_t images = ceil_div(s.batch, most), parts = ceil_div(s.batch, images);
  const int64_t fit = kColumnBytes / ((depth + s.group_out()) * static_cast<int64_t>(sizeof(uint16_t)));
  const int64_t width = std::clamp<int64_t>(fit / 2 * 2, 2, images * plane + images * plane % 2);
  const int64_t step = width + kLanes<uint16_t>;  // even; a line may be written up to one vector past its end
  const Workspace<float> memory(parts * weights);
  float* partial = memory.data();
  const InputLine<uint16_t> lines(s, x);
  const auto run = [&](int64_t begin, int64_t end) {
    uint16_t* columns = scratch<uint16_t>(Scratch::kConvColumns, (depth + s.group_out()) * step);
    uint16_t* rows = columns + depth * step;
    for (int64_t t = begin; t < end; ++t) {
      const int64_t part = t / s.p.groups, group = t % s.p.groups, from = part * images * plane,
                    until = std::min(s.batch, (part + 1) * images) * plane;
      for (int64_t first = from; first < until; first += width) {
        const int64_t count = std::min(width, until - first);
        parallel_for(depth + s.group_out(), std::max<int64_t>(1, 16384 / width),
                     [&](int64_t begin_line, int64_t end_line) {
                       for (int64_t k = begin_line; k < end_line; ++k) {
                         if (k < depth) {
                           make_line(s, lines, x, group, k, first, count, columns + k * step);
                           continue;
                         }
                         const int64_t channel = group * s.group_out() + k - depth;
                         for (int64_t i = 0; i < count;) {
                           const int64_t image = (first + i) / plane, place = (first + i) % plane,
                                         here = std::min(count - i, plane - place);
                           std::copy_n(dy + (image * s.out_channels + channel) * plane + place, here,
                                       rows + (k - depth) * step + i);
                           i += here;
                         }
                       }
                     });
        half_gemm({.type = type,
                   .m = s.group_out(),
                   .n = depth,
                   .k = count,
                   .a = rows,
                   .lda = step,
                   .b = columns,
                   .ldb = step,
                   .trans_b = true,
                   .sums = partial + part * weights + group * s.group_out() * depth,
                   .ldc = depth,
                   .beta = first == from ? 0.0f : 1.0f});
      }
    }
  };
  const int64_t tasks = parts * s.p.groups;
  tasks >= kEnoughTasks ? parallel_for(tasks, 1, run) : run(0, tasks);
  parallel_for(weights, 16384, [&](int64_t begin, int64_t end) {
    for (int64_t part = 1; part < parts; ++part)
      for (int64_t i = begin; i < end; ++i) partial[i] += partial[part * weights + i];
    narrow(type, dw + begin, partial + begin, end - begin);
  });
}

}  // namespace tandem::cpu
