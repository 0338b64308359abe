// Sums over the columns of each channel, for batch normalisation and gradients of biases: of a few terms in the computed
// type, of these in double. The gradient may come from calls of a captured step's queue (memory_ends.h).
#pragma once
#include "tandem/cuda/memory_ends.h"
#include "tandem/cuda/ops/batch_norm_columns.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {

template <class S>
inline constexpr int kPack = Pack<S>::kSize;

struct Sums {
  double products, plain;
  __device__ Sums operator+(const Sums& b) const { return {products + b.products, plain + b.plain}; }
};
__device__ inline Sums shuffle_xor(const Sums& s, int apart) {
  return {cuda_impl::shuffle_xor(s.products, apart), cuda_impl::shuffle_xor(s.plain, apart)};
}

// What is summed.
enum class Of { kStatistics, kGradients, kPlain };

/// A kernel parameter. partial [parts, tiles, slots]: with a gradient its sums, and the sums of its products with x - mean;
/// for statistics the sums of x - x0 and of its square, where x0 is the first element of the channel; or the sums of x.
template <class S>
struct SumColumns {
  Sums* partial;
  const S *in, *grad;
  const computed_t<S>* mean;
  Columns m;
  ColumnTiles t;
};

// The sums over a few rows of each column of a pack: of a (x - center) and of a, where a is the gradient, or for
// statistics x - center again. Then a column's center is its first x: however large the mean is, no digits are lost, and
// a center far from the other x adds more to the variance than to its error. Plain sums are of x.
template <class S, Of kOf, class T = computed_t<S>>
struct ColumnSums {
  T center[kPack<S>], products[kPack<S>] = {}, plain[kPack<S>] = {};

  __device__ void center_at(const Pack<S>& x) {
    TANDEM_UNROLL
    for (int k = 0; k < kPack<S>; ++k) center[k] = static_cast<T>(x.x[k]);
  }
  __device__ void add(const Pack<S>& x, const Pack<S>& g) {
    TANDEM_UNROLL
    for (int k = 0; k < kPack<S>; ++k) {
      if constexpr (kOf == Of::kPlain) {
        plain[k] += static_cast<T>(x.x[k]);
        continue;
      }
      const T far = static_cast<T>(x.x[k]) - center[k], a = kOf == Of::kGradients ? static_cast<T>(g.x[k]) : far;
      products[k] += a * far;
      plain[k] += a;
    }
  }
  // Adds the columns of each unit, in double; origin[k]: the centers that all sums of a channel have.
  __device__ void store(Sums* units, const T (&origin)[kPack<S>], int rows, const ColumnTiles& t) const {
    Sums sums[kPack<S>];
    TANDEM_UNROLL
    for (int k = 0; k < kPack<S>; ++k) {
      sums[k] = {static_cast<double>(products[k]), static_cast<double>(plain[k])};
      if constexpr (kOf != Of::kStatistics) continue;
      const double off = static_cast<double>(center[k]) - static_cast<double>(origin[k]);
      sums[k].products += off * (2 * sums[k].plain + off * rows);
      sums[k].plain += off * rows;
    }
    TANDEM_UNROLL
    for (int apart = 1; apart < kPack<S>; apart *= 2) {
      TANDEM_UNROLL
      for (int k = 0; k < kPack<S>; k += 2 * apart)
        if (apart < t.unit) sums[k] = sums[k] + sums[k + apart];
    }
    TANDEM_UNROLL
    for (int k = 0; k < kPack<S>; ++k)
      if (k % t.unit == 0) units[k / t.unit] = sums[k];
  }
};

// The sums of the rows [from, until) of a pack, `lines` apart.
template <class S, Of kOf, bool kWhole, class Source>
__device__ void sum_pack(Sums* units, const SumColumns<S>& p, const Source& source, int64_t pack, int64_t from,
                         int64_t until) {
  using T = computed_t<S>;
  const Columns& m = p.m;
  const ColumnTiles& t = p.t;
  constexpr int kRows = ColumnTiles::kAtOnce;
  const int64_t first = pack * kPack<S>, column = m.column(first);
  const int count = m.count(first);
  ColumnSums<S, kOf> sums;
  if constexpr (kOf == Of::kGradients) m.per_channel(first, sums.center, [&](int64_t c) { return p.mean[c]; });
  for (int64_t row = from; row < until; row += kRows * t.lines) {
    RawPack x[kRows], g[kRows];
    TANDEM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (row + r * t.lines >= until) continue;
      const int64_t at = m.row(row + r * t.lines) + column;
      if constexpr (kOf == Of::kGradients) {
        x[r] = load_pack(p.in + at, count, kWhole);
        g[r] = source.load(at, count, kWhole);
      } else {
        x[r] = source.load(at, count, kWhole);
      }
    }
    if (kOf == Of::kStatistics && row == from) sums.center_at(x[0].template elements<S>());
    TANDEM_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (row + r * t.lines >= until) continue;
      const Pack<S> values = x[r].template elements<S>();
      if constexpr (kOf == Of::kGradients)
        sums.add(values, g[r].template elements<S>());
      else
        sums.add(values, values);
    }
  }
  T origin[kPack<S>] = {};
  if constexpr (kOf == Of::kStatistics)
    m.per_channel(first, origin, [&](int64_t c) { return static_cast<T>(p.in[c * m.plane]); });
  sums.store(units, origin, (static_cast<int>(until - from) + t.lines - 1) / t.lines, t);
}

// The sums over the units [begin, end) of a channel, by `lanes` threads.
__device__ inline Sums sum_units(const Sums* units, const ColumnTiles& t, int lines, int begin, int end) {
  const int length = end - begin;
  Sums sums{0, 0};
  for (int j = static_cast<int>(threadIdx.x) % t.lanes; j < lines * length; j += t.lanes) {
    const int line = t.lines == 1 ? 0 : j / length;
    sums = sums + units[line * static_cast<int>(t.tile()) + begin + j - line * length];
  }
  return fold_warp(sums, Plus(), t.lanes);
}

/// `source` has the gradient, or without one the input.
template <class S, Of kOf, bool kWhole, class Source>
__device__ void sum_columns(const SumColumns<S>& p, const Source& source) {
  const Columns& m = p.m;
  const ColumnTiles& t = p.t;
  __shared__ Sums shared[kLineThreads * kPack<S>];
  const int thread = static_cast<int>(threadIdx.x), line = thread / t.across, lane = thread - line * t.across;
  const int64_t part = blockIdx.x / static_cast<uint32_t>(t.tiles), tile = blockIdx.x - part * t.tiles,
                pack = tile * t.across + lane, from = part * t.part_rows,
                until = from + t.part_rows < m.rows ? from + t.part_rows : m.rows;
  const int lines = until - from < t.lines ? static_cast<int>(until - from) : t.lines;
  if (line < lines && pack < m.packs)
    sum_pack<S, kOf, kWhole>(shared + thread * t.units, p, source, pack, from + line, until);
  __syncthreads();
  const int64_t start = tile * t.tile(), left = m.channels * t.inner - start, size = left < t.tile() ? left : t.tile(),
                channel = t.first_channel(m, tile);
  for (int64_t slot = thread / t.lanes; slot - thread / t.lanes < t.slots; slot += kLineThreads / t.lanes) {
    const int64_t begin = (channel + slot) * t.inner - start, end = begin + t.inner;
    const bool mine = begin < size;
    const Sums sums = sum_units(shared, t, mine ? lines : 0, begin > 0 ? static_cast<int>(begin) : 0,
                                static_cast<int>(end < size ? end : size));
    if (mine && thread % t.lanes == 0) p.partial[t.place(part, tile) + slot] = sums;
  }
}

}  // namespace tandem::cuda_impl
