// Matrix-vector product and dot product: the matrix is read once, with several sums in flight.
#include "tandem/core/cpu/gemv.h"

#include <algorithm>
#include <type_traits>

#include "tandem/core/cpu/gemm.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kInlineElements = 32768;  // matrix elements not worth waking a thread for

template <class T>
T sum_lanes(Vec<T> v) {
  T sum = 0;
  for (int i = 0; i < kLanes<T>; ++i) sum += v[i];
  return sum;
}

// Sum of one piece.
template <class T>
T dot_piece(int64_t n, const T* x, int64_t stride_x, const T* y, int64_t stride_y) {
  int64_t i = 0;
  if constexpr (std::is_floating_point_v<T>) {
    T sum = 0;
    if (stride_x == 1 && stride_y == 1) {
      constexpr int kWidth = kLanes<T>;
      Vec<T> s0{}, s1{}, s2{}, s3{};
      for (; i + 4 * kWidth <= n; i += 4 * kWidth) {
        s0 += load(x + i) * load(y + i);
        s1 += load(x + i + kWidth) * load(y + i + kWidth);
        s2 += load(x + i + 2 * kWidth) * load(y + i + 2 * kWidth);
        s3 += load(x + i + 3 * kWidth) * load(y + i + 3 * kWidth);
      }
      for (; i + kWidth <= n; i += kWidth) s0 += load(x + i) * load(y + i);
      sum = sum_lanes<T>((s0 + s1) + (s2 + s3));
    }
    for (; i < n; ++i) sum += x[i * stride_x] * y[i * stride_y];
    return sum;
  } else {
    uint64_t sum = 0;
    for (; i < n; ++i) sum += static_cast<uint64_t>(x[i * stride_x]) * static_cast<uint64_t>(y[i * stride_y]);
    return static_cast<T>(sum);
  }
}

template <class T>
void put(const GemvArgs<T>& g, int64_t i, T sum) {
  T& y = g.y[i * g.stride_y];
  y = g.beta == T(0) ? g.alpha * sum : g.alpha * sum + g.beta * y;
}

// Sums of `count` <= kPiece consecutive rows of a matrix stored by columns.
constexpr int64_t kPiece = 256;
template <class T>
void gemv_columns(const GemvArgs<T>& g, int64_t begin, int64_t count) {
  alignas(64) T sum[kPiece] = {};
  for (int64_t p = 0; p < g.columns; ++p) {
    const T x = g.x[p * g.stride_x];
    const T* column = g.matrix + p * g.ld + begin;
    for (int64_t i = 0; i < count; ++i) sum[i] += column[i] * x;
  }
  for (int64_t i = 0; i < count; ++i) put(g, begin + i, sum[i]);
}

}  // namespace

template <class T>
void gemv(const GemvArgs<T>& g) {
  if (!g.transposed) {
    const int64_t grain = std::max<int64_t>(1, kInlineElements / g.columns);
    parallel_for(g.rows, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        put(g, i, dot_piece<T>(g.columns, g.matrix + i * g.ld, 1, g.x, g.stride_x));
    });
    return;
  }
  const int64_t pieces = (g.rows + kPiece - 1) / kPiece;
  parallel_for(pieces, std::max<int64_t>(1, kInlineElements / (g.columns * kPiece)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t q = begin; q < end; ++q)
                   gemv_columns(g, q * kPiece, std::min(kPiece, g.rows - q * kPiece));
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
      sums[b / piece] =
          dot_piece(std::min(piece, end - b), x + b * stride_x, stride_x, y + b * stride_y, stride_y);
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
template float dot<float>(int64_t, const float*, int64_t, const float*, int64_t);
template double dot<double>(int64_t, const double*, int64_t, const double*, int64_t);
template int64_t dot<int64_t>(int64_t, const int64_t*, int64_t, const int64_t*, int64_t);
template int32_t dot<int32_t>(int64_t, const int32_t*, int64_t, const int32_t*, int64_t);
template int16_t dot<int16_t>(int64_t, const int16_t*, int64_t, const int16_t*, int64_t);
template int8_t dot<int8_t>(int64_t, const int8_t*, int64_t, const int8_t*, int64_t);
template uint8_t dot<uint8_t>(int64_t, const uint8_t*, int64_t, const uint8_t*, int64_t);

}  // namespace tandem::cpu
