// Products of a matrix with one or a few vectors, and dot product: the matrix is read once from memory.
#include "tandem/core/cpu/linalg/gemv.h"

#include <algorithm>
#include <type_traits>

#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kInlineElements = 32768;  // matrix elements not worth waking a thread for

// Sum of one piece.
template <class T, class M = T>
T dot_piece(int64_t n, const M* x, int64_t stride_x, const T* y, int64_t stride_y) {
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    T sum = 0;
    if (stride_x == 1 && stride_y == 1) {
      constexpr int kWidth = Wide<T>::kCount;
      Wide<T> s[4] = {};
      for (; i + 4 * kWidth <= n; i += 4 * kWidth)
        for (int k = 0; k < 4; ++k)
          s[k] = fma(load_block<T>(x + i + k * kWidth), load_block<T>(y + i + k * kWidth), s[k]);
      for (; i + kWidth <= n; i += kWidth) s[0] = fma(load_block<T>(x + i), load_block<T>(y + i), s[0]);
      sum = sum_lanes((s[0] + s[1]) + (s[2] + s[3]));
    }
    for (; i < n; ++i) sum = math::fma(static_cast<T>(x[i * stride_x]), y[i * stride_y], sum);
    return sum;
  } else {
    uint64_t sum = 0;
    for (; i < n; ++i) sum += static_cast<uint64_t>(x[i * stride_x]) * static_cast<uint64_t>(y[i * stride_y]);
    return static_cast<T>(sum);
  }
}

template <class T, class M>
void put(const GemvArgs<T, M>& g, int64_t vector, int64_t i, T sum) {
  T& y = g.y[vector * g.next_y + i * g.stride_y];
  y = g.beta == T(0) ? g.alpha * sum : math::fma(g.beta, y, g.alpha * sum);
}

// A matrix stored by columns is cut into strips of rows, whose sums stay near L1, and each strip into chunks of
// columns, whose memory is nearly contiguous. Chunks are summed separately, then added in order.
constexpr int64_t kStripRows = 4096, kMaxChunks = 16;
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
  const int64_t strips = ceil_div(g.rows, kStripRows / g.vectors), strip = ceil_div(g.rows, strips);
  const int64_t chunk = std::max(ceil_div(kInlineElements, strip), ceil_div(g.columns, kMaxChunks)),
                chunks = ceil_div(g.columns, chunk), all = g.vectors * g.rows;
  const Workspace<T> memory(chunks * all);
  T* sums = memory.data();  // [chunks][vectors][rows]
  parallel_for(strips * chunks, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t row = t / chunks * strip, first = t % chunks * chunk;
      const int64_t count = std::min(strip, g.rows - row);
      if (count <= 0) continue;  // strips of equal length may be fewer
      T* sum = sums + t % chunks * all + row;
      for (int64_t v = 0; v < g.vectors; ++v) std::fill_n(sum + v * g.rows, count, T(0));
      add_columns(g, row, count, first, std::min(g.columns, first + chunk), sum, g.rows);
    }
  });
  parallel_for(g.rows, kInlineElements / kMaxChunks, [&](int64_t begin, int64_t end) {
    for (int64_t v = 0; v < g.vectors; ++v) {
      T* sum = sums + v * g.rows;
      for (int64_t c = 1; c < chunks; ++c)
        for (int64_t i = begin; i < end; ++i) sum[i] += sum[c * all + i];
      for (int64_t i = begin; i < end; ++i) put(g, v, i, sum[i]);
    }
  });
}

}  // namespace

template <class T, class M>
void gemv(const GemvArgs<T, M>& g) {
  if (g.transposed) return gemv_columns(g);
  const int64_t grain = std::max<int64_t>(1, kInlineElements / g.columns);
  parallel_for(g.rows, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      for (int64_t v = 0; v < g.vectors; ++v)
        put(g, v, i, dot_piece<T, M>(g.columns, g.matrix + i * g.ld, 1, g.x + v * g.next_x, g.stride_x));
  });
}

template <class T>
T dot(int64_t n, const T* x, int64_t stride_x, const T* y, int64_t stride_y) {
  constexpr int64_t kPieces = 64;
  const int64_t piece = std::max<int64_t>(65536, (n + kPieces - 1) / kPieces);
  if (n <= piece) return dot_piece(n, x, stride_x, y, stride_y);
  T sums[kPieces] = {};
  parallel_for(n, piece, [&](int64_t begin, int64_t end) {
    // A range may cover several pieces, or all of them when there are no other threads.
    for (int64_t b = begin; b < end; b += piece)
      sums[b / piece] = dot_piece(std::min(piece, end - b), x + b * stride_x, stride_x, y + b * stride_y, stride_y);
  });
  std::make_unsigned_t<std::conditional_t<std::is_integral_v<T>, T, int>> integer_sum = 0;
  T sum = 0;
  for (T s : sums) {
    if constexpr (std::is_integral_v<T>)
      integer_sum = static_cast<decltype(integer_sum)>(integer_sum + static_cast<decltype(integer_sum)>(s));
    else
      sum += s;
  }
  return std::is_integral_v<T> ? static_cast<T>(integer_sum) : sum;
}

template void gemv<float>(const GemvArgs<float>&);
template void gemv<double>(const GemvArgs<double>&);
template void gemv<float, Half>(const GemvArgs<float, Half>&);
template void gemv<float, BFloat16>(const GemvArgs<float, BFloat16>&);
template float dot<float>(int64_t, const float*, int64_t, const float*, int64_t);
template double dot<double>(int64_t, const double*, int64_t, const double*, int64_t);
template int64_t dot<int64_t>(int64_t, const int64_t*, int64_t, const int64_t*, int64_t);
template int32_t dot<int32_t>(int64_t, const int32_t*, int64_t, const int32_t*, int64_t);
template int16_t dot<int16_t>(int64_t, const int16_t*, int64_t, const int16_t*, int64_t);
template int8_t dot<int8_t>(int64_t, const int8_t*, int64_t, const int8_t*, int64_t);
template uint8_t dot<uint8_t>(int64_t, const uint8_t*, int64_t, const uint8_t*, int64_t);

}  // namespace tandem::cpu
