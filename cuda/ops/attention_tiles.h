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

/// Rows of kWidth elements in shared memory, with 16 bytes behind each so that the lanes of a load meet all banks.
template <class S, int kWidth>
struct Tile {
  static constexpr int kPitch = kWidth + static_cast<int>(16 / sizeof(S)), kPack = static_cast<int>(16 / sizeof(S));
  S* data;
  __device__ S* row(int r) const { return data + r * kPitch; }
  /// The four words behind a row.
  __device__ uint32_t* behind(int r) const { return reinterpret_cast<uint32_t*>(row(r) + kWidth); }
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

/// The first row and column of the lane's elements in a tile, and its row `h` in tile row `m`.
__device__ inline int lane_row() { return static_cast<int>(threadIdx.x) % 32 / 4; }
__device__ inline int lane_column() { return static_cast<int>(threadIdx.x) % 4 * 2; }
__device__ inline int lane_row(int m, int h) { return 16 * m + 8 * h + lane_row(); }

// Loops that are unrolled, as what they index is in registers.

/// body(i) for i < kCount.
template <int kCount, class Body>
__device__ inline void each(Body body) {
  TANDEM_UNROLL
  for (int i = 0; i < kCount; ++i) body(i);
}
/// body(m, h) for each row that the lane has of M tiles.
template <int M, class Body>
__device__ inline void each_row(Body body) {
  each<2 * M>([&](int i) { body(i / 2, i % 2); });
}
/// body(m, n, h) for each pair of neighbouring elements that it has of M x N tiles: 2h and 2h + 1.
template <int M, int N, class Body>
__device__ inline void each_pair(Body body) {
  each_row<M>([&](int m, int h) { each<N>([&](int n) { body(m, n, h); }); });
}

/// The sums of a warp: M x N tiles of 16 x 8.
template <int M, int N>
struct Sums {
  float at[M][N][4];
  /// Both elements of a pair.
  __device__ float* pair(int m, int n, int h) { return at[m][n] + 2 * h; }
  __device__ void clear() {
    each_pair<M, N>([&](int m, int n, int h) { pair(m, n, h)[0] = pair(m, n, h)[1] = 0; });
  }
};

/// sums = a bᵀ of 16 M rows of a, from `first` on, and 8 N rows of b.
template <int M, int N, class S, int kWidth>
__device__ void multiply_rows(Sums<M, N>& sums, const Tile<S, kWidth>& a, int first, const Tile<S, kWidth>& b) {
  sums.clear();
  if constexpr (sizeof(S) == 2) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    each<kWidth / 16>([&](int k) {
      uint32_t left[M][4];
      each<M>(
          [&](int m) { load_matrices<false>(left[m], a.row(first + 16 * m + lane % 16) + 16 * k + lane / 16 * 8); });
      each<N / 2>([&](int n) {
        uint32_t right[4];
        load_matrices<false>(right, b.row(16 * n + lane / 16 * 8 + lane % 8) + 16 * k + lane / 8 % 2 * 8);
        each<M>([&](int m) {
          multiply_tiles<S>(sums.at[m][2 * n], left[m], right[0], right[1]);
          multiply_tiles<S>(sums.at[m][2 * n + 1], left[m], right[2], right[3]);
        });
      });
    });
  } else {
    TANDEM_NO_UNROLL
    for (int k = 0; k < kWidth; k += 4) {
      float4 left[M][2];
      each_row<M>(
          [&](int m, int h) { left[m][h] = *reinterpret_cast<const float4*>(a.row(first + lane_row(m, h)) + k); });
      each<2 * N>([&](int i) {
        const int n = i / 2, c = i % 2;
        const float4 right = *reinterpret_cast<const float4*>(b.row(8 * n + lane_column() + c) + k);
        each_row<M>([&](int m, int h) {
          float& sum = sums.at[m][n][2 * h + c];
          sum = fmaf(left[m][h].x, right.x, sum);
          sum = fmaf(left[m][h].y, right.y, sum);
          sum = fmaf(left[m][h].z, right.z, sum);
          sum = fmaf(left[m][h].w, right.w, sum);
        });
      });
    }
  }
}

/// sums += p v, with p of 8 N columns in the registers and v of as many rows. Half types round p.
template <int M, int N, class S, int kWidth>
__device__ void add_product(Sums<M, kWidth / 8>& sums, const Sums<M, N>& p, const Tile<S, kWidth>& v) {
  if constexpr (sizeof(S) == 2) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    each<N / 2>([&](int k) {
      uint32_t left[M][4];
      each<4 * M>([&](int i) {
        const float* of = p.at[i / 4][2 * k + i % 4 / 2] + i % 2 * 2;
        left[i / 4][i % 4] = rounded_pair<S>(of[0], of[1]);
      });
      each<kWidth / 16>([&](int n) {
        uint32_t right[4];
        load_matrices<true>(right, v.row(16 * k + lane % 16) + 16 * n + lane / 16 * 8);
        each<M>([&](int m) {
          multiply_tiles<S>(sums.at[m][2 * n], left[m], right[0], right[1]);
          multiply_tiles<S>(sums.at[m][2 * n + 1], left[m], right[2], right[3]);
        });
      });
    });
  } else {
    const int group = static_cast<int>(threadIdx.x) % 32 / 4 * 4;
    each<8 * N>([&](int column) {  // of p: it is with lane column / 2 % 4 of the four that share rows
      float left[M][2];
      each_row<M>([&](int m, int h) {
        left[m][h] = __shfl_sync(kFullMask, p.at[m][column / 8][2 * h + column % 2], group + column / 2 % 4);
      });
      const float* right = v.row(column) + lane_column();
      each<kWidth / 8>([&](int n) {
        each_row<M>([&](int m, int h) {
          for (int c = 0; c < 2; ++c) sums.pair(m, n, h)[c] = fmaf(left[m][h], right[8 * n + c], sums.pair(m, n, h)[c]);
        });
      });
    });
  }
}

}  // namespace tandem::cuda_impl
