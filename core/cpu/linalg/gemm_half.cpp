// Matrix products of the half types: as gemm.cpp, with panels of float32 or of pairs of bfloat16, both four bytes wide.
// Sums have the order of sum_order.h, and stay in float32 until the last block of the depth, whose tiles are rounded while they
// are in the cache.
#include "tandem/core/cpu/linalg/gemm_half.h"

#include <algorithm>

#include "tandem/core/cpu/linalg/gemv.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/pack_half.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlock = 1024;    // rows and columns of C processed at once
constexpr int64_t kTaskPanels = 4;  // panels of A and of B in one task

// How C is split: panels of `rows` rows and `columns` columns, `depth` products at a time (even for pairs).
struct Cut {
  HalfPacking packing;
  int vectors;
  int64_t rows, columns, depth;
};

Cut cut_for(const HalfGemmArgs& g) {
  Cut cut{HalfPacking(g.type), g.n > kLanes<float> ? 2 : 1, 0, 0, 0};
  cut.rows = ceil_div(g.m, ceil_div(g.m, kMaxTileRows[cut.vectors]));
  cut.columns = cut.vectors * kLanes<float>;
  cut.depth = (cut.packing.pairs ? 2 : 1) * piece_depth<float>(cut.packing.packed(g.k));
  return cut;
}

// Packs `count` lines of A or B from `line` on.
void pack(const Cut& cut, const HalfLines& x, int64_t line, int64_t count, int64_t width, int64_t p, int64_t depth,
          float* to) {
  const HalfLines part{x.data + (x.contiguous_depth ? line * x.ld + p : p * x.ld + line), x.ld, x.contiguous_depth};
  cut.packing.panel(part, count, width, depth, to);
}

// A block of C: its sums [row panels][column panels][rows][columns] are kept between the blocks of the depth.
struct Block {
  int64_t i, j, m, n, p, depth;
  const float *a = nullptr, *b = nullptr;  // packed
  float* sums = nullptr;
  bool first, last;
};

// Rounds rows of `width` sums into C from (i, j) on.
void put(const HalfGemmArgs& g, const float* sums, int64_t width, int64_t i, int64_t j, int64_t rows, int64_t columns) {
  constexpr int64_t kAtOnce = 2 * kLanes<float>;
  float old[kAtOnce];
  for (int64_t r = 0; r < rows; ++r) {
    uint16_t* c = g.c + (i + r) * g.ldc + j;
    const float* from = sums + r * width;
    if (g.beta == 0) {
      narrow(g.type, c, from, columns);
      continue;
    }
    for (int64_t first = 0; first < columns; first += kAtOnce) {
      const int64_t count = std::min(kAtOnce, columns - first);
      widen(g.type, old, c + first, count);
      for (int64_t e = 0; e < count; ++e) old[e] = from[first + e] + g.beta * old[e];
      narrow(g.type, c + first, old, count);
    }
  }
}

// One task: kTaskPanels x kTaskPanels tiles of the block.
void multiply_task(const HalfGemmArgs& g, const Cut& cut, const Block& block, int64_t row_panel, int64_t column_panel) {
  float* edge = scratch<float>(Scratch::kGemmTile, cut.rows * cut.columns);
  const int64_t row_panels = ceil_div(block.m, cut.rows), column_panels = ceil_div(block.n, cut.columns),
                depth = cut.packing.packed(block.depth);
  for (int64_t ip = row_panel; ip < std::min(row_panel + kTaskPanels, row_panels); ++ip)
    for (int64_t jp = column_panel; jp < std::min(column_panel + kTaskPanels, column_panels); ++jp) {
      const int64_t i = ip * cut.rows, j = jp * cut.columns;
      const int64_t rows = std::min(cut.rows, block.m - i), columns = std::min(cut.columns, block.n - j);
      const TileSegment<float> segment{block.a + i * depth, block.b + j * depth, depth};
      float* sums = block.sums == nullptr ? nullptr : block.sums + (ip * column_panels + jp) * cut.rows * cut.columns;
      const auto kernel = cut.packing.kernel(static_cast<int>(rows), cut.vectors);
      const bool in_place =
          block.last && block.first && cut.packing.pairs && cut.vectors == 2 && columns == cut.columns && g.beta == 0;
      kernel({.segments = &segment,
              .segment_count = 1,
              .b_step = cut.columns,
              .c = block.last ? edge : sums,
              .ldc = in_place ? g.ldc : cut.columns,
              .alpha = g.alpha,
              .accumulate = !block.last && !block.first,
              .addend = block.last && !block.first ? sums : nullptr,
              .rounded = in_place ? g.c + (block.i + i) * g.ldc + block.j + j : nullptr});
      if (block.last && !in_place) put(g, edge, cut.columns, block.i + i, block.j + j, rows, columns);
    }
}

// Packs A and B of one block, then multiplies them.
void multiply_block(const HalfGemmArgs& g, const Cut& cut, Block block) {
  const HalfLines left{g.a, g.lda, !g.trans_a}, right{g.b, g.ldb, g.trans_b};
  const int64_t row_panels = ceil_div(block.m, cut.rows), column_panels = ceil_div(block.n, cut.columns),
                depth = cut.packing.packed(block.depth);
  float* packed_a = scratch<float>(Scratch::kGemmA, row_panels * cut.rows * depth);
  float* packed_b = scratch<float>(Scratch::kGemmB, column_panels * cut.columns * depth);
  block.a = packed_a;
  block.b = packed_b;
  const bool small = block.m * block.n * block.depth <= kInlineWork;
  const auto pack_panels = [&](int64_t begin, int64_t end) {
    for (int64_t q = begin; q < end; ++q) {
      if (q < row_panels) {  // the last panel of A may have fewer rows than the others; its tiles have as many
        const int64_t r = q * cut.rows, rows = std::min(cut.rows, block.m - r);
        pack(cut, left, block.i + r, rows, rows, block.p, block.depth, packed_a + r * depth);
      } else {
        const int64_t r = (q - row_panels) * cut.columns, columns = std::min(cut.columns, block.n - r);
        pack(cut, right, block.j + r, columns, cut.columns, block.p, block.depth, packed_b + r * depth);
      }
    }
  };
  const int64_t row_tasks = ceil_div(row_panels, kTaskPanels), tasks = row_tasks * ceil_div(column_panels, kTaskPanels);
  if (row_panels == 1) {  // a panel of B is multiplied once only, so while it is in the cache
    pack_panels(0, 1);
    return parallel_for_each(tasks, small ? tasks : 1, [&](int64_t t) {
      pack_panels(1 + t * kTaskPanels, 1 + std::min(column_panels, (t + 1) * kTaskPanels));
      multiply_task(g, cut, block, 0, t * kTaskPanels);
    });
  }
  const int64_t panels = row_panels + column_panels;
  parallel_for(panels, small ? panels : 4, pack_panels);
  parallel_for_each(tasks, small ? tasks : 1, [&](int64_t t) {
    multiply_task(g, cut, block, t % row_tasks * kTaskPanels, t / row_tasks * kTaskPanels);
  });
}

// C = beta C.
void scale(const HalfGemmArgs& g) {
  if (g.beta == 1) return;
  constexpr int64_t kWidth = 2 * kLanes<float>;
  const float zeros[kWidth] = {};
  for (int64_t j = 0; j < g.n; j += kWidth) put(g, zeros, 0, 0, j, g.m, std::min(kWidth, g.n - j));
}

void multiply(const HalfGemmArgs& g) {
  const Cut cut = cut_for(g);
  const int64_t row_step = kBlock / cut.rows * cut.rows, deepest = std::min(cut.depth, g.k);
  float* sums = nullptr;
  if (deepest < g.k)
    sums = scratch<float>(Scratch::kGemmSums, ceil_div(std::min(row_step, g.m), cut.rows) * cut.rows *
                                                  ceil_div(std::min(kBlock, g.n), cut.columns) * cut.columns);
  for (int64_t j = 0; j < g.n; j += kBlock)
    for (int64_t i = 0; i < g.m; i += row_step)
      for (int64_t p = 0; p < g.k; p += cut.depth)
        multiply_block(g, cut,
                       {.i = i,
                        .j = j,
                        .m = std::min(row_step, g.m - i),
                        .n = std::min(kBlock, g.n - j),
                        .p = p,
                        .depth = std::min(cut.depth, g.k - p),
                        .sums = sums,
                        .first = p == 0,
                        .last = p + cut.depth >= g.k});
}

// op(M) [rows, columns] times vectors, of which M is read once from memory.
struct FewVectors {
  int64_t rows, columns, count;
  const uint16_t* matrix;
  int64_t ld;
  bool transposed, in_lanes;
  const uint16_t* x;
  int64_t stride_x, next_x;
};

// The products [count][rows], times alpha, in scratch memory.
float* products(const HalfGemmArgs& g, const FewVectors& v) {
  float* x = scratch<float>(Scratch::kGemmA, v.count * v.columns);
  float* y = scratch<float>(Scratch::kGemmB, v.count * v.rows);
  for (int64_t i = 0; i < v.count; ++i) {
    const uint16_t* from = v.x + i * v.next_x;
    if (v.stride_x == 1) {
      widen(g.type, x + i * v.columns, from, v.columns);
    } else {
      for (int64_t p = 0; p < v.columns; ++p) widen(g.type, x + i * v.columns + p, from + p * v.stride_x, 1);
    }
  }
  const auto run = [&]<class M>(const M* matrix) {
    gemv<float, M>({.rows = v.rows,
                    .columns = v.columns,
                    .matrix = matrix,
                    .ld = v.ld,
                    .transposed = v.transposed,
                    .in_lanes = v.in_lanes,
                    .x = x,
                    .stride_x = 1,
                    .y = y,
                    .stride_y = 1,
                    .alpha = g.alpha,
                    .beta = 0,
                    .vectors = v.count,
                    .next_x = v.columns,
                    .next_y = v.rows});
  };
  if (g.type == kHalf)
    run(reinterpret_cast<const Half*>(v.matrix));
  else
    run(reinterpret_cast<const BFloat16*>(v.matrix));
  return y;
}

void multiply_one(const HalfGemmArgs& g) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0 || g.alpha == 0) return scale(g);
  if (g.n == 1) {
    const float* y = products(g, {.rows = g.m,
                                  .columns = g.k,
                                  .count = 1,
                                  .matrix = g.a,
                                  .ld = g.lda,
                                  .transposed = g.trans_a,
                                  .in_lanes = true,
                                  .x = g.b,
                                  .stride_x = g.trans_b ? 1 : g.ldb,
                                  .next_x = 0});
    put(g, y, 1, 0, 0, g.m, 1);
  } else if (few_rows_fit(g.m, g.n, g.k, g.trans_b) && !HalfPacking(g.type).pairs) {  // pairs are added in panels
    const float* y = products(g, {.rows = g.n,
                                  .columns = g.k,
                                  .count = g.m,
                                  .matrix = g.b,
                                  .ld = g.ldb,
                                  .transposed = !g.trans_b,
                                  .in_lanes = false,
                                  .x = g.a,
                                  .stride_x = g.trans_a ? g.lda : 1,
                                  .next_x = g.trans_a ? 1 : g.lda});
    put(g, y, g.n, 0, 0, g.m, g.n);
  } else {
    multiply(g);
  }
}

}  // namespace

void half_gemm(const HalfGemmArgs& args) { for_batch(args, multiply_one); }

}  // namespace tandem::cpu
