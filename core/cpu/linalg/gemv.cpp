// Products of a matrix with one or a few vectors: the matrix is read once from memory.
#include "tandem/core/cpu/linalg/gemv.h"

#include <algorithm>
#include <type_traits>
#include <utility>

#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kInlineElements = 32768;  // matrix elements not worth waking a thread for

// Sum of x[i] y[i], i < n, in an order that depends only on n.
template <class T, class M>
T dot(int64_t n, const M* x, const T* y, int64_t stride_y) {
  int64_t i = 0;
  T sum = 0;
  if (stride_y == 1) {
    constexpr int kWidth = Wide<T>::kCount;
    Wide<T> s[4] = {};
    for (; i + 4 * kWidth <= n; i += 4 * kWidth)
      for (int k = 0; k < 4; ++k)
        s[k] = fma(load_block<T>(x + i + k * kWidth), load_block<T>(y + i + k * kWidth), s[k]);
    for (; i + kWidth <= n; i += kWidth) s[0] = fma(load_block<T>(x + i), load_block<T>(y + i), s[0]);
    sum = sum_lanes((s[0] + s[1]) + (s[2] + s[3]));
  }
  for (; i < n; ++i) sum = math::fma(static_cast<T>(x[i]), y[i * stride_y], sum);
  return sum;
}

// y of a vector, row i on: adds alpha times the sums of a piece, [count], to beta y or, but for the first piece, to y.
template <class T, class M>
void put(const GemvArgs<T, M>& g, int64_t vector, int64_t i, int64_t count, const T* sums, bool first) {
  T* y = g.y + vector * g.next_y + i * g.stride_y;
  for (int64_t r = 0; r < count; ++r, y += g.stride_y) {
    const T sum = g.alpha * sums[r];
    *y = !first || g.beta == T(1) ? sum + *y : g.beta == T(0) ? sum : sum + static_cast<T>(g.beta * *y);
  }
}

// The sums of `count` <= kLanes rows, `depth` long and ld apart, times kVectors vectors: blocks of the matrix are
// transposed in registers, so that a lane is a row.
template <class T, class M, int kVectors>
void sum_rows(const M* rows, int64_t ld, int64_t count, int64_t depth, const T* x, int64_t stride_x, int64_t next_x,
              T (&sums)[kVectors][kLanes<T>]) {
  constexpr int kWidth = kLanes<T>;
  Vec<T> sum[kVectors] = {};
  const auto columns = [&](int64_t p, Vec<T>(&to)[kWidth]) {
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) to[i] = load_wide<T>(rows + std::min<int64_t>(i, count - 1) * ld + p);
    transpose_lanes<T>(to);
  };
  const auto add = [&](int64_t p, Vec<T> column) {
#pragma GCC unroll 4
    for (int v = 0; v < kVectors; ++v) sum[v] = fma(x[v * next_x + p * stride_x], column, sum[v]);
  };
  Vec<T> block[kWidth];
  int64_t p = 0;
  for (; p + kWidth <= depth; p += kWidth) {
    columns(p, block);
#pragma GCC unroll 16
    for (int i = 0; i < kWidth; ++i) add(p + i, block[i]);
  }
  if (depth >= kWidth) {
    if (p < depth) columns(depth - kWidth, block);
    for (; p < depth; ++p) add(p, block[p - (depth - kWidth)]);
  }
  for (; p < depth; ++p) {
    Vec<T> column{};
    for (int64_t i = 0; i < count; ++i) column[i] = static_cast<T>(rows[i * ld + p]);
    add(p, column);
  }
  for (int v = 0; v < kVectors; ++v) store(sums[v], sum[v]);
}

template <class T, class M, int kVectors>
void gemv_rows(const GemvArgs<T, M>& g) {
  constexpr int64_t kWidth = kLanes<T>;
  const int64_t depth = piece_depth<T>(g.columns), grain = std::max<int64_t>(1, kInlineElements / (g.columns * kWidth));
  parallel_for(ceil_div(g.rows, kWidth), grain, [&](int64_t begin, int64_t end) {
    T sums[kVectors][kLanes<T>];
    for (int64_t i = begin * kWidth; i < std::min(g.rows, end * kWidth); i += kWidth)
      for (int64_t p = 0, count = std::min(kWidth, g.rows - i); p < g.columns; p += depth) {
        sum_rows(g.matrix + i * g.ld + p, g.ld, count, std::min(depth, g.columns - p), g.x + p * g.stride_x, g.stride_x,
                 g.next_x, sums);
        for (int v = 0; v < kVectors; ++v) put(g, v, i, count, sums[v], p == 0);
      }
  });
}
template <class T, class M, int... kBefore>
void gemv_rows(const GemvArgs<T, M>& g, std::integer_sequence<int, kBefore...>) {
  static constexpr void (*kFunctions[])(const GemvArgs<T, M>&) = {gemv_rows<T, M, kBefore + 1>...};
  kFunctions[g.vectors - 1](g);
}

// A matrix stored by columns is cut into strips of rows, whose sums stay near L1, and each strip into the pieces of the
// depth. Pieces are summed separately, then added in order.
constexpr int64_t kMinStrip = 128, kMaxStrip = 4096, kTasks = 16;
constexpr int kToL2 = 2;  // for __builtin_prefetch: to L1, it would hold up the loads

// sum[0, count) += four columns, from `c` on and ld apart, times x. The sums are read and written once for all four,
// and the next four columns are fetched meanwhile: the hardware does not foresee so many short runs.
template <class T, class M>
void add_four_columns(const M* c, int64_t ld, int64_t count, const T* x, int64_t stride_x, bool fetch, T* sum) {
  const T x0 = x[0], x1 = x[stride_x], x2 = x[2 * stride_x], x3 = x[3 * stride_x];
  constexpr int64_t kWidth = kLanes<T>;
  int64_t i = 0;
  for (; i + kWidth <= count; i += kWidth) {
    if (fetch)
      for (int64_t k = 4; k < 8; ++k) __builtin_prefetch(c + k * ld + i, 0, kToL2);
    Vec<T> value = fma(x0, load_wide<T>(c + i), load(sum + i));
    value = fma(x1, load_wide<T>(c + ld + i), value);
    value = fma(x2, load_wide<T>(c + 2 * ld + i), value);
    store(sum + i, fma(x3, load_wide<T>(c + 3 * ld + i), value));
  }
  for (; i < count; ++i)
    for (int64_t k = 0; k < 4; ++k) sum[i] = math::fma(x[k * stride_x], static_cast<T>(c[k * ld + i]), sum[i]);
}

// For every vector, sum[0, count) += the columns [begin, end) times x, for `count` rows from `row` on. The sums of the
// vectors are `stride` apart.
template <class T, class M>
void add_columns(const GemvArgs<T, M>& g, int64_t row, int64_t count, int64_t begin, int64_t end, T* sum,
                 int64_t stride) {
  int64_t p = begin;
  for (; p + 4 <= end; p += 4)
    for (int64_t v = 0; v < g.vectors; ++v)
      add_four_columns(g.matrix + p * g.ld + row, g.ld, count, g.x + v * g.next_x + p * g.stride_x, g.stride_x, v == 0,
                       sum + v * stride);
  for (; p < end; ++p)
    for (int64_t v = 0; v < g.vectors; ++v) {
      const T x = g.x[v * g.next_x + p * g.stride_x];
      const M* c = g.matrix + p * g.ld + row;
      for (int64_t i = 0; i < count; ++i) sum[v * stride + i] = math::fma(static_cast<T>(c[i]), x, sum[v * stride + i]);
    }
}

template <class T, class M>
void gemv_columns(const GemvArgs<T, M>& g) {
  const int64_t depth = piece_depth<T>(g.columns), pieces = ceil_div(g.columns, depth), all = g.vectors * g.rows;
  const int64_t wanted = std::max(ceil_div(g.rows, kMaxStrip / g.vectors),
                                  std::min(ceil_div(g.rows * g.columns, kInlineElements), kTasks) / pieces);
  const int64_t strip = std::max(std::min(kMinStrip, g.rows), ceil_div(g.rows, std::max<int64_t>(1, wanted))),
                strips = ceil_div(g.rows, strip);
  const Workspace<T> memory(pieces * all);
  T* sums = memory.data();  // [pieces][vectors][rows]
  parallel_for(
      strips * pieces, std::max<int64_t>(1, kInlineElements / (strip * depth)), [&](int64_t begin, int64_t end) {
        for (int64_t t = begin; t < end; ++t) {
          const int64_t row = t / pieces * strip, first = t % pieces * depth, count = std::min(strip, g.rows - row);
          T* sum = sums + t % pieces * all + row;
          for (int64_t v = 0; v < g.vectors; ++v) std::fill_n(sum + v * g.rows, count, T(0));
          add_columns(g, row, count, first, std::min(g.columns, first + depth), sum, g.rows);
        }
      });
  parallel_for(g.rows, kInlineElements / kTasks, [&](int64_t begin, int64_t end) {
    for (int64_t v = 0; v < g.vectors; ++v)
      for (int64_t p = 0; p < pieces; ++p) put(g, v, begin, end - begin, sums + p * all + v * g.rows + begin, p == 0);
  });
}

}  // namespace

template <class T, class M>
void gemv(const GemvArgs<T, M>& g) {
  if (g.transposed) return gemv_columns(g);
  if (!g.in_lanes) return gemv_rows(g, std::make_integer_sequence<int, kMaxVectors>{});
  parallel_for(g.rows, std::max<int64_t>(1, kInlineElements / g.columns), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const T sum = dot(g.columns, g.matrix + i * g.ld, g.x, g.stride_x);
      put(g, 0, i, 1, &sum, true);
    }
  });
}

template void gemv<float>(const GemvArgs<float>&);
template void gemv<double>(const GemvArgs<double>&);
template void gemv<float, Half>(const GemvArgs<float, Half>&);
template void gemv<float, BFloat16>(const GemvArgs<float, BFloat16>&);

}  // namespace tandem::cpu
