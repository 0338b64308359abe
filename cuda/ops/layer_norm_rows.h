// The rows of layer normalisation on CUDA: its forward, and the gradient of its input. `lanes` threads share a row and read
// it once per pass, later passes from the cache. What is normalised, or the gradient, may come from calls of a captured
// step's queue, and what they compute may go to such calls (memory_ends.h).
#pragma once
#include <cmath>

#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/memory_ends.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {

// Two sums at once.
template <class T>
struct RowSums {
  T first, second;
  friend __device__ RowSums operator+(RowSums a, RowSums b) { return {a.first + b.first, a.second + b.second}; }
  friend __device__ RowSums shuffle_xor(RowSums value, int apart) {
    return {cuda_impl::shuffle_xor(value.first, apart), cuda_impl::shuffle_xor(value.second, apart)};
  }
};

// The normalisation of one row.
template <class T>
struct Row {
  T mean, scale, shift;
  __device__ explicit Row(const T* statistics) : Row(statistics[0], statistics[1], statistics[2]) {}
  __device__ Row(T rounded, T off, T inverse) : mean(rounded), scale(inverse), shift(-off * inverse) {}
  __device__ T operator()(T x) const { return (x - mean) * scale + shift; }
};

// Where a thread works: in a row that it shares with `lanes` threads, of whose packs of `count` elements it has each
// `lanes`-th, from `lane` on. Threads beyond the last row have none.
struct RowPlace {
  int lane;
  int64_t row;
  bool active;
  int64_t packs, start;
  __device__ RowPlace(int64_t rows, int64_t n, int lanes, int count)
      : lane(static_cast<int>(threadIdx.x) & (lanes - 1)),
        row(int64_t{blockIdx.x} * (kLineThreads / lanes) + static_cast<int>(threadIdx.x) / lanes),
        active(row < rows),
        packs(active ? n / count : 0),
        start(active ? row * n : 0) {}
};

template <class State>
__device__ State fold_row(State state, int lanes, State* shared) {
  return lanes <= 32 ? fold_warp(state, Plus(), lanes) : fold_block(state, shared, Plus());
}

/// A kernel parameter.
template <class S>
struct NormalizeRows {
  using T = computed_t<S>;
  S* out;
  T* statistics;
  const S* in;
  const T *weight, *bias;  ///< may be null
  T eps;
  int64_t rows, n;
  int lanes;
};

/// `source` has the input, and leaves it in memory.
template <class S, int kCount, class Source, class Sink>
__device__ void normalize_rows(const NormalizeRows<S>& p, const Source& source, const Sink& sink) {
  using T = computed_t<S>;
  using Packs = Pack<S, kCount>;
  __shared__ T shared_sum[kLineThreads / 32];
  __shared__ RowSums<T> shared_sums[kLineThreads / 32];
  const int lanes = p.lanes;
  const auto [lane, row, active, packs, start] = RowPlace(p.rows, p.n, lanes, kCount);
  const auto* x = reinterpret_cast<const Packs*>(p.in + start);
  T sum = 0;
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs pack = source.template load<kCount>(start + i * kCount);
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) sum += static_cast<T>(pack.x[k]);
  }
  const T count = static_cast<T>(p.n), mean = fold_row(sum, lanes, shared_sum) / count;
  RowSums<T> moments{0, 0};
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs pack = x[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const T far = static_cast<T>(pack.x[k]) - mean;
      moments.first += far;
      moments.second += far * far;
    }
  }
  moments = fold_row(moments, lanes, shared_sums);
  if (!active) return;
  // The mean is rounded: what it lacks is subtracted, too.
  const T off = moments.first / count, centred = moments.second / count - off * off;
  const T variance = centred < T(0) ? T(0) : centred, inverse = T(1) / std::sqrt(variance + p.eps);
  if (lane == 0) {
    p.statistics[3 * row] = mean;
    p.statistics[3 * row + 1] = off;
    p.statistics[3 * row + 2] = inverse;
  }
  const Row<T> normal(mean, off, inverse);
  for (int64_t i = lane; i < packs; i += lanes) {
    Packs pack = x[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      T y = normal(static_cast<T>(pack.x[k]));
      if (p.weight != nullptr) y *= p.weight[i * kCount + k];
      if (p.bias != nullptr) y += p.bias[i * kCount + k];
      pack.x[k] = static_cast<S>(y);
    }
    sink.store(start + i * kCount, pack);
  }
}

/// A kernel parameter.
template <class S>
struct RowGradients {
  using T = computed_t<S>;
  S* out;
  const S *grad, *in;
  const T *statistics, *weight;  ///< weight may be null
  int64_t rows, n;
  int lanes;
};

/// With h the normalised row and u = g weight: scale (u - mean(u) - h mean(u h)). `source` has g, and leaves it in memory.
template <class S, int kCount, class Source, class Sink>
__device__ void row_gradients(const RowGradients<S>& p, const Source& source, const Sink& sink) {
  using T = computed_t<S>;
  using Packs = Pack<S, kCount>;
  __shared__ RowSums<T> shared[kLineThreads / 32];
  const int lanes = p.lanes;
  const auto [lane, row, active, packs, start] = RowPlace(p.rows, p.n, lanes, kCount);
  const auto *x = reinterpret_cast<const Packs*>(p.in + start), *g = reinterpret_cast<const Packs*>(p.grad + start);
  const Row<T> normal(p.statistics + (active ? 3 * row : 0));
  const auto u = [&](const Packs& pack, int64_t i, int k) {
    return static_cast<T>(pack.x[k]) * (p.weight != nullptr ? p.weight[i * kCount + k] : T(1));
  };
  RowSums<T> sums{0, 0};
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs px = x[i], pg = source.template load<kCount>(start + i * kCount);
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const T value = u(pg, i, k);
      sums.first += value;
      sums.second += value * normal(static_cast<T>(px.x[k]));
    }
  }
  sums = fold_row(sums, lanes, shared);
  if (!active) return;
  const T level = sums.first / static_cast<T>(p.n), slope = sums.second / static_cast<T>(p.n);
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs px = x[i], pg = g[i];
    Packs y;
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      y.x[k] = static_cast<S>(normal.scale * ((u(pg, i, k) - level) - normal(static_cast<T>(px.x[k])) * slope));
    sink.store(start + i * kCount, y);
  }
}

}  // namespace tandem::cuda_impl
