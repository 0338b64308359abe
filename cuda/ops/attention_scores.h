// The inputs of attention's kernels: the problem as a kernel parameter, which blocks of scores are visible, and the scores of a
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

/// Bit x: whether dropout keeps element e + x, for `count` <= 32 of them. Not inline: it would fill the loops.
[[gnu::noinline]] static __device__ uint32_t kept_bits(Generator::Draw draw, ops::Hit kept, int64_t e, int count) {
  uint32_t bits = 0;
  const int64_t last = (e + count - 1) / 4;
  TANDEM_NO_UNROLL
  for (int64_t b = e / 4; b <= last; ++b) {
    const PhiloxBlock block = philox(draw.seed, draw.offset, static_cast<uint64_t>(b));
    const uint32_t four =
        kept(block.word[0]) | kept(block.word[1]) << 1 | kept(block.word[2]) << 2 | kept(block.word[3]) << 3;
    const int place = static_cast<int>(4 * b - e);  // -3 to 31
    bits |= place < 0 ? four >> -place : four << place;
  }
  return bits;
}

/// Writes kept_bits() of kQueries queries from i and kKeys keys from j on behind the rows of `tile`, from word `first` on.
template <int kQueries, int kKeys, int kThreads, class S, int kWidth>
__device__ void draw_kept(const Tile<S, kWidth>& tile, int first, const AttentionProblem<S>& p, int bh, int i, int j) {
  constexpr int kWords = (kKeys + 31) / 32, kBits = kKeys < 32 ? kKeys : 32;
  static_assert(kWords <= 4);
  if (!p.dropped) return;
  const Generator::Draw draw = p.draw.now();
  for (int x = static_cast<int>(threadIdx.x); x < kQueries * kWords; x += kThreads) {
    const int query = x / kWords, word = x % kWords;
    tile.behind(query)[first + word] = kept_bits(draw, p.kept, p.element(bh, i + query, j + 32 * word), kBits);
  }
}

/// A number of the mask times log2(e), which stays finite if it is.
__device__ inline float in_log2(float number) {
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return number == kHiddenScore ? number : fmaxf(number * kLog2e, kLowest);
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
        score += in_log2(p.mask.at(start, i, j));
    }
  });
}

}  // namespace tandem::cuda_impl
