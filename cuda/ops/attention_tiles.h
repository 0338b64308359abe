// The products of attention's kernels: 16 M rows a warp, whose sums lie in its registers as the tensor cores leave them.
//
// Lane l, with g = l / 4 and t = l % 4, has of a 16 x 8 tile the elements 0, 1: row g, columns 2t and 2t + 1, and 2, 3: the
// same of row g + 8. Half types are multiplied by the tensor cores, float32 one by one, in the order of the inner
// dimension.
#pragma once
#include <tensor_cores.h>

#include "tandem/cuda/device.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {

/// Rows of kWidth elements in shared memory, with 16 bytes between them so that the lanes of a load meet all banks.
template <class S, int kWidth>
struct Tile {
  static constexpr int kPitch = kWidth + static_cast<int>(16 / sizeof(S)), kPack = static_cast<int>(16 / sizeof(S));
  S* data;
  __device__ S* row(int r) const { return data + r * kPitch; }
  /// Starts to copy `count` rows of `width` elements; what is missing of kRows and kWidth becomes 0. `whole_packs`: all
  /// addresses and widths are multiples of 16 bytes.
  template <int kRows, int kThreads>
  __device__ void load(const S* from, int64_t stride, int count, int width, bool whole_packs) const {
    constexpr int kPacks = kWidth / kPack;
    for (int i = static_cast<int>(threadIdx.x); i < kRows * kPacks; i += kThreads) {
      const int r = i / kPacks, first = i % kPacks * kPack;
      const S* source = from + r * stride + first;
      S* to = row(r) + first;
      if (whole_packs) {
        const bool real = r < count && first < width;
        start_copy(to, real ? source : from, real);
        continue;
      }
      TANDEM_UNROLL
      for (int k = 0; k < kPack; ++k) to[k] = r < count && first + k < width ? source[k] : static_cast<S>(0.0f);
    }
  }
};

/// The sums of a warp: M x N tiles of 16 x 8.
template <int M, int N>
struct Sums {
  float at[M][N][4];
  __device__ void clear() {
    TANDEM_UNROLL
    for (int m = 0; m < M; ++m) TANDEM_UNROLL
    for (int n = 0; n < N; ++n) TANDEM_UNROLL
    for (int i = 0; i < 4; ++i) at[m][n][i] = 0;
  }
};

/// The first row and column of the lane's elements in a tile, and its row `h` in tile row `m`.
__device__ inline int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 4; }
__device__ inline int lane_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }
__device__ inline int lane_row(int m, int h) { return 16 * m + 8 * h + lane_row(); }

/// sums = a bᵀ of 16 M rows of a, from `first` on, and 8 N rows of b.
template <int M, int N, class S, int kWidth>
__device__ void multiply_rows(Sums<M, N>& sums, const Tile<S, kWidth>& a, int first, const Tile<S, kWidth>& b) {
  sums.clear();
  if constexpr (sizeof(S) == 2) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    TANDEM_UNROLL
    for (int k = 0; k < kWidth; k += 16) {
      uint32_t left[M][4];
      TANDEM_UNROLL
      for (int m = 0; m < M; ++m) load_matrices<false>(left[m], a.row(first + 16 * m + lane % 16) + k + lane / 16 * 8);
      TANDEM_UNROLL
      for (int n = 0; n < N; n += 2) {
        uint32_t right[4];
        load_matrices<false>(right, b.row(8 * n + lane / 16 * 8 + lane % 8) + k + lane / 8 % 2 * 8);
        TANDEM_UNROLL
        for (int m = 0; m < M; ++m) {
          multiply_tiles<S>(sums.at[m][n], left[m], right[0], right[1]);
          multiply_tiles<S>(sums.at[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  } else {
    constexpr int kPack = Tile<S, kWidth>::kPack;
    struct alignas(16) Pack {
      float x[kPack];
    };
    const int g = lane_row(), t = lane_column();
    TANDEM_NO_UNROLL
    for (int k = 0; k < kWidth; k += kPack) {
      Pack left[M][2];
      TANDEM_UNROLL
      for (int m = 0; m < M; ++m) TANDEM_UNROLL
      for (int h = 0; h < 2; ++h) left[m][h] = *reinterpret_cast<const Pack*>(a.row(first + 16 * m + 8 * h + g) + k);
      TANDEM_UNROLL
      for (int n = 0; n < N; ++n) TANDEM_UNROLL
      for (int c = 0; c < 2; ++c) {
        const Pack right = *reinterpret_cast<const Pack*>(b.row(8 * n + t + c) + k);
        TANDEM_UNROLL
        for (int m = 0; m < M; ++m) TANDEM_UNROLL
        for (int h = 0; h < 2; ++h) TANDEM_UNROLL
        for (int x = 0; x < kPack; ++x)
          sums.at[m][n][2 * h + c] = fmaf(left[m][h].x[x], right.x[x], sums.at[m][n][2 * h + c]);
      }
    }
  }
}

/// sums += p v, with p of 8 N columns in the registers and v of as many rows. Half types round p.
template <int M, int N, class S, int kWidth>
__device__ void add_product(Sums<M, kWidth / 8>& sums, const Sums<M, N>& p, const Tile<S, kWidth>& v) {
  if constexpr (sizeof(S) == 2) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    TANDEM_UNROLL
    for (int k = 0; k < N; k += 2) {
      uint32_t left[M][4];
      TANDEM_UNROLL
      for (int m = 0; m < M; ++m) TANDEM_UNROLL
      for (int i = 0; i < 4; ++i) {
        const float* of = p.at[m][k + i / 2];
        left[m][i] = rounded_pair<S>(of[i % 2 * 2], of[i % 2 * 2 + 1]);
      }
      TANDEM_UNROLL
      for (int n = 0; n < kWidth / 8; n += 2) {
        uint32_t right[4];
        load_matrices<true>(right, v.row(8 * k + lane % 16) + 8 * n + lane / 16 * 8);
        TANDEM_UNROLL
        for (int m = 0; m < M; ++m) {
          multiply_tiles<S>(sums.at[m][n], left[m], right[0], right[1]);
          multiply_tiles<S>(sums.at[m][n + 1], left[m], right[2], right[3]);
        }
      }
    }
  } else {
    const int t = lane_column(), group = static_cast<int>(threadIdx.x) % 32 / 4 * 4;
    TANDEM_UNROLL
    for (int tile = 0; tile < N; ++tile) TANDEM_UNROLL
    for (int k = 0; k < 8; ++k) {  // column 8 tile + k of p is with lane k / 2 of the four that share rows
      float left[M][2];
      TANDEM_UNROLL
      for (int m = 0; m < M; ++m) TANDEM_UNROLL
      for (int h = 0; h < 2; ++h) left[m][h] = __shfl_sync(kFullMask, p.at[m][tile][2 * h + k % 2], group + k / 2);
      const S* right = v.row(8 * tile + k) + t;
      TANDEM_UNROLL
      for (int n = 0; n < kWidth / 8; ++n) TANDEM_UNROLL
      for (int m = 0; m < M; ++m) TANDEM_UNROLL
      for (int i = 0; i < 4; ++i) sums.at[m][n][i] = fmaf(left[m][i / 2], right[8 * n + i % 2], sums.at[m][n][i]);
    }
  }
}

}  // namespace tandem::cuda_impl
