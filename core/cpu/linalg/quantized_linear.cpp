// Products with a matrix of int8 values and a scale per group of them. Few rows of x: the values are read once from
// memory, converted in registers, and each group's sum is multiplied by its scale. More rows: blocks of the matrix are
// converted in the cache, and multiplied by gemm.
#include "tandem/core/cpu/linalg/quantized_linear.h"

#include <algorithm>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/simd.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kWidth = Wide<float>::kCount;
constexpr int kMaxAtOnce = 4;  // rows of x that share the loads of the matrix
// Sums in registers, and as many totals.
constexpr int kSums = std::max(1, kVectorRegisters / 4 / Wide<float>::kVectors);
constexpr int64_t kLine = 64;               // bytes
constexpr int64_t kFetchAhead = 12288;      // bytes, at least
constexpr int kToL2 = 2;                    // for __builtin_prefetch
constexpr int64_t kBlock = 16;              // rows of the matrix that stay in L1 for all rows of x
constexpr int64_t kInlineElements = 65536;  // of the matrix, not worth waking a thread for

struct Product {
  int64_t m, n, k, groups, group;
  const int8_t* values;
  const float *scales, *bias;  // bias may be null
  float* out;
  int64_t steps, last_steps;  // vectors of a group and of the last one
  int64_t next_x;             // elements of a row of x in vectors
};

// x with zeros behind each group, up to whole vectors: a vector of the matrix may reach into the next group.
void widen_groups(const Product& p, const float* x, float* to) {
  for (int64_t i = 0; i < p.m; ++i)
    for (int64_t g = 0; g < p.groups; ++g) {
      const int64_t first = g * p.group, count = std::min(p.group, p.k - first), padded = p.steps * kWidth;
      float* group = to + i * p.next_x + g * padded;
      std::copy_n(x + i * p.k + first, count, group);
      std::fill(group + count, group + padded, 0.0f);
    }
}

// out[m][r]: M rows of x, from `x` on, times R rows of the matrix, from `row` on. With `fetch`, later rows are fetched
// meanwhile: the hardware does not foresee so many short runs.
template <int M, int R>
void multiply(const Product& p, const float* x, const int8_t* values, int64_t row, bool fetch, float* out) {
  const float* scales = p.scales + row * p.groups;
  const int64_t ahead = ceil_div(kFetchAhead, std::max<int64_t>(1, R * p.k)) * R * p.k;
  Wide<float> total[M][R] = {};
  for (int64_t g = 0; g < p.groups; ++g) {
    Wide<float> sum[M][R] = {};
    const int64_t steps = g + 1 == p.groups ? p.last_steps : p.steps;
    const int8_t* group = values + g * p.group;
    for (int64_t at = 0; fetch && at < p.group; at += kLine)
      for (int r = 0; r < R; ++r) __builtin_prefetch(group + r * p.k + at + ahead, 0, kToL2);
    for (int64_t s = 0; s < steps; ++s) {
      Wide<float> wide[R];
      for (int r = 0; r < R; ++r) wide[r] = load_block<float>(group + r * p.k + s * kWidth);
      for (int m = 0; m < M; ++m) {
        const Wide<float> v = load_block<float>(x + m * p.next_x + s * kWidth);
        for (int r = 0; r < R; ++r) sum[m][r] = fma(wide[r], v, sum[m][r]);
      }
    }
    for (int m = 0; m < M; ++m)
      for (int r = 0; r < R; ++r)
        for (int v = 0; v < Wide<float>::kVectors; ++v)
          total[m][r].v[v] = fma(scales[r * p.groups + g], sum[m][r].v[v], total[m][r].v[v]);
    x += p.steps * kWidth;
  }
  for (int m = 0; m < M; ++m)
    for (int r = 0; r < R; ++r) {
      float sum = p.bias == nullptr ? 0.0f : p.bias[row + r];
      for (int i = 0; i < static_cast<int>(kWidth); ++i) sum += total[m][r][i];
      out[m * p.n + r] = sum;
    }
}

// M rows of x times the rows [begin, end) of the matrix.
template <int M>
void multiply_rows(const Product& p, const float* x, const int8_t* values, int64_t begin, int64_t end, bool fetch,
                   float* out) {
  constexpr int kAtOnce = std::max(1, kSums / M);
  int64_t row = begin;
  for (; row + kAtOnce <= end; row += kAtOnce)
    multiply<M, kAtOnce>(p, x, values + (row - begin) * p.k, row, fetch, out + row);
  for (; row < end; ++row) multiply<M, 1>(p, x, values + (row - begin) * p.k, row, fetch, out + row);
}

// All rows of x times the rows [begin, end) of the matrix, whose values are at `values`.
void multiply_block(const Product& p, const float* x, const int8_t* values, int64_t begin, int64_t end) {
  for (int64_t i = 0; i < p.m; i += kMaxAtOnce) {
    const float* rows = x + i * p.next_x;
    float* out = p.out + i * p.n;
    switch (std::min<int64_t>(kMaxAtOnce, p.m - i)) {
      case 1:
        multiply_rows<1>(p, rows, values, begin, end, i == 0, out);
        break;
      case 2:
        multiply_rows<2>(p, rows, values, begin, end, i == 0, out);
        break;
      case 3:
        multiply_rows<3>(p, rows, values, begin, end, i == 0, out);
        break;
      default:
        multiply_rows<4>(p, rows, values, begin, end, i == 0, out);
    }
  }
}

void few_rows(const Product& p, const float* x) {
  float* padded = scratch<float>(Scratch::kGemmA, p.m * p.next_x);
  widen_groups(p, x, padded);
  const int64_t blocks = ceil_div(p.n, kBlock), row_bytes = std::max<int64_t>(1, p.k);
  parallel_for(blocks, std::max<int64_t>(1, kInlineElements / (kBlock * row_bytes)), [&](int64_t begin, int64_t end) {
    for (int64_t b = begin; b < end; ++b) {
      const int64_t first = b * kBlock, last = std::min(first + kBlock, p.n);
      const int8_t* values = p.values + first * p.k;
      if (last * p.k + kWidth <= p.n * p.k) {
        multiply_block(p, padded, values, first, last);
        continue;
      }
      // A vector would reach behind the end of the matrix.
      const int64_t bytes = (last - first) * p.k;
      auto* copy = scratch<int8_t>(Scratch::kGemmB, bytes + kWidth);
      std::copy_n(values, bytes, copy);
      std::fill_n(copy + bytes, kWidth, int8_t{0});
      multiply_block(p, padded, copy, first, last);
    }
  });
}

void many_rows(const Product& p, const float* x) {
  const int64_t rows = int8_part(p.k);
  const Workspace<float> memory(std::min(rows, p.n) * p.k);
  float* weight = memory.data();
  if (p.bias != nullptr)
    for (int64_t i = 0; i < p.m; ++i) std::copy_n(p.bias, p.n, p.out + i * p.n);
  for (int64_t first = 0; first < p.n; first += rows) {
    const int64_t count = std::min(rows, p.n - first);
    parallel_for(count, kBlock, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        for (int64_t g = 0; g < p.groups; ++g) {
          const int64_t at = g * p.group, last = std::min(at + p.group, p.k);
          const float scale = p.scales[(first + i) * p.groups + g];
          const int8_t* from = p.values + (first + i) * p.k;
          for (int64_t e = at; e < last; ++e) weight[i * p.k + e] = static_cast<float>(from[e]) * scale;
        }
    });
    gemm<float>({.m = p.m,
                 .n = count,
                 .k = p.k,
                 .a = x,
                 .lda = std::max<int64_t>(1, p.k),
                 .b = weight,
                 .ldb = std::max<int64_t>(1, p.k),
                 .trans_b = true,
                 .c = p.out + first,
                 .ldc = p.n,
                 .beta = p.bias == nullptr ? 0.0f : 1.0f});
  }
}

}  // namespace

void quantized_linear(const Tensor& out, const Tensor& x, const Tensor& values, const Tensor& scales,
                      const Tensor& bias) {
  Product p{.m = x.size(0),
            .n = values.size(0),
            .k = values.size(1),
            .groups = scales.size(1),
            .group = 0,
            .values = values.ptr<int8_t>(),
            .scales = scales.ptr<float>(),
            .bias = data_or_null<float>(bias),
            .out = out.ptr<float>(),
            .steps = 0,
            .last_steps = 0,
            .next_x = 0};
  if (p.m == 0 || p.n == 0) return;
  p.group = ceil_div(p.k, std::max<int64_t>(1, p.groups));
  p.steps = ceil_div(p.group, kWidth);
  p.last_steps = ceil_div(p.k - (p.groups - 1) * p.group, kWidth);
  p.next_x = p.groups * p.steps * kWidth;
  p.m <= kFewInt8Rows ? few_rows(p, x.ptr<float>()) : many_rows(p, x.ptr<float>());
}

}  // namespace tandem::cpu
