// What attention's kernels read: the problem as a kernel parameter, which blocks of scores are visible, and the scores of a
// block in the registers of its warps. Scores are times log2(e), so that softmax takes powers of two.
#pragma once
#include <limits>

#include "tandem/core/backend/attention.h"
#include "tandem/core/formulas/random_ops.h"
#include "tandem/cuda/ops/attention_tiles.h"
#include "tandem/cuda/replayed_value.h"

namespace tandem::cuda_impl {

inline constexpr float kLog2e = 1.44269504f, kHiddenScore = -std::numeric_limits<float>::infinity();

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
  __device__ int64_t start(int bh) const { return defined() ? bh / heads * batch + bh % heads * head : 0; }
  /// For query i and key j of the head that starts there.
  __device__ float at(int64_t start, int i, int j) const {
    const int64_t place = start + i * row + j * column;
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
  float scale, scale_log2e;
  bool causal, dropped, whole_packs;
  int64_t before;
  ReplayedDraw draw;
  ops::Hit kept;
  float factor;  ///< of the kept elements

  /// The places of a query and of a score among all.
  __device__ int64_t row(int bh, int i) const { return int64_t{bh} * queries + i; }
  __device__ int64_t element(int bh, int i, int j) const { return row(bh, i) * keys + j; }
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
    const int64_t start = mask.start(bh);
    int seen = 0;
    for (int x = static_cast<int>(threadIdx.x); x < lines * across && seen == 0; x += kThreads)
      seen = mask.at(start, i + x / across, j + x % across) != kHiddenScore ? 1 : 0;
    return __syncthreads_or(seen) != 0;
  }
};

/// What dropout multiplies element e of the softmax and the one behind it by. Not inline: it would fill the loops.
struct DropoutPair {
  float at[2];
};
[[gnu::noinline]] static __device__ DropoutPair dropout_pair(Generator::Draw draw, ops::Hit kept, float factor,
                                                             uint64_t e) {
  PhiloxBlock block = philox(draw.seed, draw.offset, e / 4);
  DropoutPair pair;
  pair.at[0] = static_cast<float>(kept(word_of(block, e))) * factor;
  if (e % 4 == 3) block = philox(draw.seed, draw.offset, e / 4 + 1);
  pair.at[1] = static_cast<float>(kept(word_of(block, e + 1))) * factor;
  return pair;
}

/// Makes scores of the products of queries and keys. The tile's rows start at `row` and its columns at `column`; rows are
/// queries, or keys if `rows_are_keys`.
template <bool rows_are_keys, class S, int M, int N>
__device__ void finish_scores(Sums<M, N>& s, const AttentionProblem<S>& p, int bh, int row, int column) {
  each_pair<M, N>([&](int m, int n, int h) {
    for (int c = 0; c < 2; ++c) s.pair(m, n, h)[c] *= p.scale_log2e;
  });
  const int last_row = row + 16 * M - 1, last_column = column + 8 * N - 1;
  const int first_query = rows_are_keys ? column : row, last_key = rows_are_keys ? last_row : last_column;
  if (!p.mask.defined() && last_key < p.keys && p.is_visible(first_query, last_key)) return;
  const int64_t start = p.mask.start(bh);
  each_pair<M, N>([&](int m, int n, int h) {
    for (int c = 0; c < 2; ++c) {
      float& score = s.pair(m, n, h)[c];
      const int r = row + lane_row(m, h), x = column + 8 * n + lane_column() + c;
      const int i = rows_are_keys ? x : r, j = rows_are_keys ? r : x;
      if (j >= p.keys || !p.is_visible(i, j))
        score = kHiddenScore;
      else if (p.mask.defined() && i < p.queries)
        score += p.mask.at(start, i, j) * kLog2e;
    }
  });
}

}  // namespace tandem::cuda_impl
