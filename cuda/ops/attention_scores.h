// What attention's kernels read: the problem as a kernel parameter, which blocks of scores are visible, and the scores of a
// block in the registers of its warps.
#pragma once
#include <limits>

#include "tandem/core/backend/attention.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/formulas/random_ops.h"
#include "tandem/cuda/ops/attention_tiles.h"
#include "tandem/cuda/replayed_value.h"

namespace tandem::cuda_impl {

inline constexpr float kHiddenScore = -std::numeric_limits<float>::infinity();

/// A tensor [B, heads, rows, features] of unit stride in its last dimension.
template <class S>
struct Heads {
  S* data;
  int64_t batch, head, row;
  int heads;
  __device__ S* at(int bh, int r) const { return data + bh / heads * batch + bh % heads * head + int64_t{r} * row; }
};

/// [B, H, L, S], or nothing.
template <class S>
struct ScoreMask {
  const bool* visible;
  const S* numbers;
  int64_t batch, head, row, column;
  int heads;
  __device__ bool defined() const { return visible != nullptr || numbers != nullptr; }
  __device__ float at(int bh, int i, int j) const {
    const int64_t place = bh / heads * batch + bh % heads * head + i * row + j * column;
    if (visible != nullptr) return visible[place] ? 0.0f : kHiddenScore;
    return static_cast<float>(numbers[place]);
  }
};

/// Word i without an array in local memory.
__device__ inline uint32_t word_of(const PhiloxBlock& block, uint64_t i) {
  const uint32_t low = i % 2 == 0 ? block.word[0] : block.word[1], high = i % 2 == 0 ? block.word[2] : block.word[3];
  return i % 4 < 2 ? low : high;
}

template <class S>
struct AttentionProblem {
  Heads<const S> q, k, v;
  ScoreMask<S> mask;
  int heads, shared;  ///< of q, and how many of them have one of k and v
  int queries, keys, width, value_width;
  float scale;
  bool causal, dropped, whole_packs;
  int64_t before;
  ReplayedDraw draw;
  ops::Hit kept;
  float factor;  ///< of the kept elements

  /// The place of a score in the row-major tensor of all.
  __device__ int64_t element(int bh, int i, int j) const { return (int64_t{bh} * queries + i) * keys + j; }
  /// What dropout multiplies element e of the softmax by.
  __device__ float factor_of(const Generator::Draw& drawn, int64_t e) const {
    if (!dropped) return 1;
    const auto place = static_cast<uint64_t>(e);
    return static_cast<float>(kept(word_of(philox(drawn.seed, drawn.offset, place / 4), place))) * factor;
  }
  /// Queries from i and keys from j on: whether one of them sees one of these, as far as the positions say.
  __device__ bool before_diagonal(int i, int rows, int j) const { return !causal || j <= i + rows - 1 + before; }
  __device__ bool is_visible(int i, int j) const { return !causal || j <= i + before; }
  /// The same with the mask, for the whole block of threads, all of which must call it.
  template <int kThreads>
  __device__ bool any_visible(int bh, int i, int rows, int j, int columns) const {
    if (!before_diagonal(i, rows, j)) return false;
    if (!mask.defined()) return true;
    const int lines = mask.row == 0 ? 1 : min(rows, queries - i),
              across = mask.column == 0 ? 1 : min(columns, keys - j);
    int seen = 0;
    for (int x = static_cast<int>(threadIdx.x); x < lines * across && seen == 0; x += kThreads)
      seen = mask.at(bh, i + x / across, j + x % across) != kHiddenScore ? 1 : 0;
    return __syncthreads_or(seen) != 0;
  }
};

/// The factors of dropout for element e and the one behind it.
struct DropoutPair {
  float at[2];
  template <class S>
  __device__ DropoutPair(const AttentionProblem<S>& p, const Generator::Draw& draw, int64_t e) {
    at[0] = at[1] = 1;
    if (!p.dropped) return;
    const auto first = static_cast<uint64_t>(e);
    PhiloxBlock block = philox(draw.seed, draw.offset, first / 4);
    at[0] = static_cast<float>(p.kept(word_of(block, first))) * p.factor;
    if (first % 4 == 3) block = philox(draw.seed, draw.offset, first / 4 + 1);
    at[1] = static_cast<float>(p.kept(word_of(block, first + 1))) * p.factor;
  }
};

/// Scales the products of queries and keys, and adds what hides keys. The tile's rows start at `row` and its columns at
/// `column`; rows are queries, or keys if `rows_are_keys`.
template <bool rows_are_keys, class S, int M, int N>
__device__ void finish_scores(Sums<M, N>& s, const AttentionProblem<S>& p, int bh, int row, int column) {
  const int g = lane_row(), t = lane_column();
  const int last_row = row + 16 * M - 1, last_column = column + 8 * N - 1;
  const int first_query = rows_are_keys ? column : row, last_key = rows_are_keys ? last_row : last_column;
  const bool all = !p.mask.defined() && last_key < p.keys && p.is_visible(first_query, last_key);
  TANDEM_UNROLL
  for (int m = 0; m < M; ++m) TANDEM_UNROLL
  for (int n = 0; n < N; ++n) TANDEM_UNROLL
  for (int x = 0; x < 4; ++x) {
    float& score = s.at[m][n][x];
    score *= p.scale;
    if (all) continue;
    const int r = row + 16 * m + g + 8 * (x / 2), c = column + 8 * n + t + x % 2;
    const int i = rows_are_keys ? c : r, j = rows_are_keys ? r : c;
    if (j >= p.keys || !p.is_visible(i, j))
      score = kHiddenScore;
    else if (p.mask.defined() && i < p.queries)
      score += p.mask.at(bh, i, j);
  }
}

}  // namespace tandem::cuda_impl
