// Matrix products: blocks of A and B are packed into panels, which register tiles (microkernel.h) multiply; a few rows are
// vectors (gemv.h).
#include "tandem/core/cpu/linalg/gemm.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tandem/core/cpu/linalg/gemv.h"
#include "tandem/core/cpu/linalg/microkernel.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlock = 1024;    // rows and columns of C processed at once
constexpr int64_t kTaskPanels = 4;  // panels of A and of B in one task

// c = beta * c without reading c for beta == 0.
template <class T>
void scale_rows(int64_t m, int64_t n, T beta, T* c, int64_t ldc) {
  if (beta == T(1)) return;
  for (int64_t i = 0; i < m; ++i) {
    if (beta == T(0))
      std::fill_n(c + i * ldc, n, T(0));
    else
      for (int64_t j = 0; j < n; ++j) c[i * ldc + j] = static_cast<T>(c[i * ldc + j] * beta);
  }
}

// How C is split: panels of `rows` rows and `columns` columns, `depth` products at a time.
struct Cut {
  int vectors;
  int64_t rows, columns, depth;
};

// Columns and depth do not depend on m, so B may be packed before m is known.
template <class T>
Cut cut_for(const GemmArgs<T>& g) {
  const int vectors = g.n > kLanes<T> ? 2 : 1;
  const int64_t rows = g.m == 0 ? 0 : ceil_div(g.m, ceil_div(g.m, kMaxTileRows[vectors]));
  return {vectors, rows, vectors * kLanes<T>, piece_depth<T>(g.k)};
}

// Copies `depth` rows of W entries, ld apart. The constant width makes each row a few vector moves.
template <class T, int W>
void copy_rows(const T* from, int64_t ld, int64_t depth, T* to) {
  for (int64_t p = 0; p < depth; ++p) __builtin_memcpy(to + p * W, from + p * ld, W * sizeof(T));
}
template <class T>
using CopyRows = void (*)(const T* from, int64_t ld, int64_t depth, T* to);
template <class T, int... W>
CopyRows<T> pick_copy(int64_t width, std::integer_sequence<int, W...>) {
  static constexpr CopyRows<T> copies[] = {copy_rows<T, W + 1>...};
  return copies[width - 1];
}

// Packs `count` entries (of `width`, the rows or columns of a tile) by `depth` into [depth][width], zero past count.
// With `contiguous_depth`, source entry e is at from + e * ld with contiguous depth; otherwise depth p is at from
// + p * ld with contiguous entries.
template <class T>
void pack_panel(const T* from, int64_t ld, bool contiguous_depth, int64_t count, int64_t width, int64_t depth, T* to) {
  if (contiguous_depth) {
    transpose(count, depth, from, ld, to, width);
    if (count < width)
      for (int64_t p = 0; p < depth; ++p) std::fill(to + p * width + count, to + (p + 1) * width, T(0));
    return;
  }
  constexpr int kWidest = std::max(2 * kLanes<T>, kMaxTileRows[1]);
  if (count == width) return pick_copy<T>(width, std::make_integer_sequence<int, kWidest>{})(from, ld, depth, to);
  for (int64_t p = 0; p < depth; ++p, to += width) {
    const T* row = from + p * ld;
    for (int64_t e = 0; e < count; ++e) to[e] = row[e];
    for (int64_t e = count; e < width; ++e) to[e] = 0;
  }
}

// The last panel of A may have fewer rows than the others; its tiles have as many.
template <class T>
void pack_a_panel(const GemmArgs<T>& g, int64_t i, int64_t rows, int64_t p, int64_t depth, T* to) {
  pack_panel(g.a + (g.trans_a ? p * g.lda + i : i * g.lda + p), g.lda, !g.trans_a, rows, rows, depth, to);
}
template <class T>
void pack_b_panel(const GemmArgs<T>& g, const Cut& cut, int64_t j, int64_t columns, int64_t p, int64_t depth, T* to) {
  pack_panel(g.b + (g.trans_b ? j * g.ldb + p : p * g.ldb + j), g.ldb, g.trans_b, columns, cut.columns, depth, to);
}

template <class T>
struct Block {
  int64_t m, n, depth;  // of this block
  const T *a, *b;       // packed
  T* c;
  bool accumulate;
};

// One task: kTaskPanels x kTaskPanels tiles of the block.
template <class T>
void multiply_task(const GemmArgs<T>& g, const Cut& cut, const Block<T>& block, int64_t row_panel,
                   int64_t column_panel) {
  T* edge = scratch<T>(Scratch::kGemmTile, cut.rows * cut.columns);
  const int64_t column_end = std::min(column_panel + kTaskPanels, ceil_div(block.n, cut.columns));
  const int64_t row_end = std::min(row_panel + kTaskPanels, ceil_div(block.m, cut.rows));
  for (int64_t ip = row_panel; ip < row_end; ++ip) {
    for (int64_t jp = column_panel; jp < column_end; ++jp) {
      const int64_t i = ip * cut.rows, j = jp * cut.columns;
      const int64_t rows = std::min(cut.rows, block.m - i), columns = std::min(cut.columns, block.n - j);
      const TileSegment<T> segment{block.a + i * block.depth, block.b + j * block.depth, block.depth};
      const TileKernel<T> kernel = tile_kernel<T>(static_cast<int>(rows), cut.vectors, g.pairs);
      T* c = block.c + i * g.ldc + j;
      if (columns == cut.columns) {
        kernel({&segment, 1, cut.columns, c, g.ldc, g.alpha, block.accumulate});
        continue;
      }
      kernel({&segment, 1, cut.columns, edge, cut.columns, g.alpha, false});
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t e = 0; e < columns; ++e) {
          T& to = c[r * g.ldc + e];
          to = block.accumulate ? edge[r * cut.columns + e] + to : edge[r * cut.columns + e];
        }
    }
  }
}

// Packs A[i.., p..] and B[p.., j..] of one block, then multiplies them.
template <class T>
void multiply_block(const GemmArgs<T>& g, const Cut& cut, int64_t i, int64_t j, int64_t p, Block<T> block) {
  const int64_t row_panels = ceil_div(block.m, cut.rows), column_panels = ceil_div(block.n, cut.columns);
  T* packed_a = scratch<T>(Scratch::kGemmA, row_panels * cut.rows * block.depth);
  T* packed_b =
      g.packed_b != nullptr ? nullptr : scratch<T>(Scratch::kGemmB, column_panels * cut.columns * block.depth);
  block.a = packed_a;
  // Before this block: all panels of earlier columns, then those of its columns at lesser depth.
  block.b = g.packed_b != nullptr ? g.packed_b + j * g.k + column_panels * cut.columns * p : packed_b;
  const bool small = block.m * block.n * block.depth <= kInlineWork;
  const int64_t panels = row_panels + (packed_b != nullptr ? column_panels : 0);
  parallel_for_each(panels, small ? panels : 4, [&](int64_t q) {
    if (q < row_panels) {
      const int64_t r = q * cut.rows;
      pack_a_panel(g, i + r, std::min(cut.rows, block.m - r), p, block.depth, packed_a + r * block.depth);
    } else {
      const int64_t r = (q - row_panels) * cut.columns;
      pack_b_panel(g, cut, j + r, std::min(cut.columns, block.n - r), p, block.depth, packed_b + r * block.depth);
    }
  });
  const int64_t row_tasks = ceil_div(row_panels, kTaskPanels), tasks = row_tasks * ceil_div(column_panels, kTaskPanels);
  parallel_for_each(tasks, small ? tasks : 1, [&](int64_t t) {
    multiply_task(g, cut, block, t % row_tasks * kTaskPanels, t / row_tasks * kTaskPanels);
  });
}

template <class T>
void gemm_floating(const GemmArgs<T>& g) {
  const Cut cut = cut_for(g);
  if (g.beta != T(0) && g.beta != T(1)) scale_rows(g.m, g.n, g.beta, g.c, g.ldc);
  const int64_t row_step = kBlock / cut.rows * cut.rows;
  for (int64_t j = 0; j < g.n; j += kBlock)
    for (int64_t p = 0; p < g.k; p += cut.depth)
      for (int64_t i = 0; i < g.m; i += row_step)
        multiply_block<T>(g, cut, i, j, p,
                          {std::min(row_step, g.m - i), std::min(kBlock, g.n - j), std::min(cut.depth, g.k - p),
                           nullptr, nullptr, g.c + i * g.ldc + j, p > 0 || g.beta != T(0)});
}

// Integers: plain loops on the unsigned type, so that overflow wraps around.
template <class T>
void gemm_integer(const GemmArgs<T>& g) {
  using U = std::make_unsigned_t<T>;
  const int64_t row_a = g.trans_a ? 1 : g.lda, column_a = g.trans_a ? g.lda : 1;
  const int64_t row_b = g.trans_b ? 1 : g.ldb, column_b = g.trans_b ? g.ldb : 1;
  const int64_t grain = std::max<int64_t>(1, kInlineWork / std::max<int64_t>(1, g.n * g.k));
  parallel_for(g.m, grain, [&](int64_t begin, int64_t end) {
    scale_rows(end - begin, g.n, g.beta, g.c + begin * g.ldc, g.ldc);
    for (int64_t i = begin; i < end; ++i) {
      T* c = g.c + i * g.ldc;
      for (int64_t p = 0; p < g.k; ++p) {
        const uint64_t a = static_cast<uint64_t>(g.alpha) * static_cast<uint64_t>(g.a[i * row_a + p * column_a]);
        const T* b = g.b + p * row_b;
        for (int64_t j = 0; j < g.n; ++j)
          c[j] =
              static_cast<T>(static_cast<U>(static_cast<uint64_t>(c[j]) + a * static_cast<uint64_t>(b[j * column_b])));
      }
    }
  });
}

template <class T>
void gemm_one(const GemmArgs<T>& g) {
  if (g.m <= 0 || g.n <= 0) return;
  if (g.k <= 0 || g.alpha == T(0)) return scale_rows(g.m, g.n, g.beta, g.c, g.ldc);
  if constexpr (std::is_integral_v<T>) {
    gemm_integer(g);
  } else if (g.pairs) {
    gemm_floating(g);
  } else if (g.n == 1) {
    gemv<T>({.rows = g.m,
             .columns = g.k,
             .matrix = g.a,
             .ld = g.lda,
             .transposed = g.trans_a,
             .in_lanes = true,
             .x = g.b,
             .stride_x = g.trans_b ? 1 : g.ldb,
             .y = g.c,
             .stride_y = g.ldc,
             .alpha = g.alpha,
             .beta = g.beta});
  } else if (g.packed_b == nullptr && few_rows_fit(g.m, g.n, g.k, g.trans_b)) {
    gemv<T>({.rows = g.n,
             .columns = g.k,
             .matrix = g.b,
             .ld = g.ldb,
             .transposed = !g.trans_b,
             .x = g.a,
             .stride_x = g.trans_a ? g.lda : 1,
             .y = g.c,
             .stride_y = 1,
             .alpha = g.alpha,
             .beta = g.beta,
             .vectors = g.m,
             .next_x = g.trans_a ? 1 : g.lda,
             .next_y = g.ldc});
  } else {
    gemm_floating(g);
  }
}

}  // namespace

template <class T>
void gemm(const GemmArgs<T>& args) {
  for_batch(args, gemm_one<T>);
}

template <class T>
int64_t packed_b_size(int64_t n, int64_t k) {
  const Cut cut = cut_for(GemmArgs<T>{.n = n, .k = std::max<int64_t>(1, k)});
  return ceil_div(n, cut.columns) * cut.columns * k;
}

template <class T>
void pack_b(const GemmArgs<T>& g, T* to) {
  if (g.n <= 0 || g.k <= 0) return;
  const Cut cut = cut_for(g);
  const int64_t panels = ceil_div(g.n, cut.columns);
  parallel_for_each(panels, 4, [&](int64_t q) {
    const int64_t j = q * cut.columns, first = j / kBlock * kBlock,
                  width = ceil_div(std::min(kBlock, g.n - first), cut.columns) * cut.columns;
    for (int64_t p = 0; p < g.k; p += cut.depth) {
      const int64_t depth = std::min(cut.depth, g.k - p);
      pack_b_panel(g, cut, j, std::min(cut.columns, g.n - j), p, depth,
                   to + first * g.k + width * p + (j - first) * depth);
    }
  });
}

template int64_t packed_b_size<float>(int64_t, int64_t);
template int64_t packed_b_size<double>(int64_t, int64_t);
template void pack_b<float>(const GemmArgs<float>&, float*);
template void pack_b<double>(const GemmArgs<double>&, double*);

template void gemm<float>(const GemmArgs<float>&);
template void gemm<double>(const GemmArgs<double>&);
template void gemm<int64_t>(const GemmArgs<int64_t>&);
template void gemm<int32_t>(const GemmArgs<int32_t>&);
template void gemm<int16_t>(const GemmArgs<int16_t>&);
template void gemm<int8_t>(const GemmArgs<int8_t>&);
template void gemm<uint8_t>(const GemmArgs<uint8_t>&);

}  // namespace tandem::cpu
