// Matrix products with the CPU's bits (core/formulas/sum_order.h). A block computes a tile of out: it loads what that needs
// of a and b in steps along the depth, and each thread adds the products of its elements in order. The only column of a
// product is summed in lanes if the rows are contiguous, as by dot() in core/cpu/linalg/gemv.cpp.
#include "tandem/cuda/strict/matmul.h"

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/formulas/math.h"
#include "tandem/core/formulas/sum_order.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/matmul_matrix.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl::strict {
namespace {

constexpr int kSide = 16, kThreads = kSide * kSide, kStep = 16;
constexpr int64_t kMostBlocks = int64_t{1} << 30;  // a block computes several tiles if there are more

template <class T>
struct Operand {
  const T* data;
  int64_t batch, line, depth;  // strides: a line is a row of a or a column of b
};
template <class T>
struct Product {
  int64_t batches, m, n, k;
  int64_t piece;  // products in one chain
  Operand<T> a, b;
  const T* c;  // what beta is multiplied by
  int64_t c_batch, c_row;
  T* out;
  int64_t out_batch, out_row;
  computed_t<T> alpha, beta;
  int64_t tile_columns, tiles;  // tiles of out in a row of them, and in all
};

// beta C.
template <class T>
__device__ computed_t<T> kept(const Product<T>& p, int64_t batch, int64_t row, int64_t column) {
  const auto value = static_cast<computed_t<T>>(p.c[batch * p.c_batch + row * p.c_row + column]);
  return p.beta == computed_t<T>(1) ? value : p.beta * value;
}
// Whether beta C is added last. Without products it may be stored as it is.
template <class T>
__device__ bool keeps_last(const Product<T>& p) {
  return sizeof(T) < sizeof(float) && p.beta != 0 && !(p.k == 0 && p.beta == 1);
}
template <class T>
__device__ void put(const Product<T>& p, int64_t batch, int64_t row, int64_t column, computed_t<T> sum) {
  if (keeps_last(p)) sum += kept(p, batch, row, column);
  p.out[batch * p.out_batch + row * p.out_row + column] = static_cast<T>(sum);
}

// Copies `steps` numbers, from `start` on, of lines from `line` on, and 0 for lines that there are not. Neighbouring
// threads read neighbouring numbers.
template <int kLines, class T>
__device__ void load(const Operand<T>& from, int64_t batch, int64_t line, int64_t lines, int64_t start, int steps,
                     computed_t<T> (&to)[kStep][kLines + 1]) {
  TANDEM_UNROLL
  for (int i = 0; i < kLines * kStep / kThreads; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x);
    const int x = from.depth == 1 ? at % kStep : at / kLines, y = from.depth == 1 ? at / kStep : at % kLines;
    const bool inside = line + y < lines && x < steps;
    to[x][y] = inside ? static_cast<computed_t<T>>(
                            from.data[batch * from.batch + (line + y) * from.line + (start + x) * from.depth])
                      : computed_t<T>(0);
  }
}

// A thread computes R x R elements, kSide apart.
template <int R, class T>
__global__ void __launch_bounds__(kThreads) tile_kernel(Product<T> p) {
  using Sum = computed_t<T>;
  constexpr int kLines = kSide * R;
  __shared__ Sum a[kStep][kLines + 1], b[kStep][kLines + 1];
  const int y = static_cast<int>(threadIdx.x) / kSide, x = static_cast<int>(threadIdx.x) % kSide;
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const int64_t tile_row = tile / p.tile_columns, tile_rows = (p.m + kLines - 1) / kLines;
    const int64_t batch = tile_row / tile_rows, first_row = tile_row % tile_rows * kLines,
                  first_column = tile % p.tile_columns * kLines;
    bool begun = p.beta != 0 && !keeps_last(p);
    Sum total[R][R] = {};
    TANDEM_UNROLL
    for (int r = 0; r < R; ++r) {
      TANDEM_UNROLL
      for (int s = 0; s < R; ++s) {
        const int64_t row = first_row + y + r * kSide, column = first_column + x + s * kSide;
        if (begun && row < p.m && column < p.n) total[r][s] = kept(p, batch, row, column);
      }
    }
    for (int64_t piece = 0; piece < p.k; piece += p.piece) {
      Sum sums[R][R] = {};
      const int64_t end = piece + p.piece < p.k ? piece + p.piece : p.k;
      for (int64_t start = piece; start < end; start += kStep) {
        const int steps = end - start < kStep ? static_cast<int>(end - start) : kStep;
        __syncthreads();
        load<kLines>(p.a, batch, first_row, p.m, start, steps, a);
        load<kLines>(p.b, batch, first_column, p.n, start, steps, b);
        __syncthreads();
        for (int i = 0; i < steps; ++i) {
          Sum left[R], right[R];
          TANDEM_UNROLL
          for (int r = 0; r < R; ++r) left[r] = a[i][y + r * kSide];
          TANDEM_UNROLL
          for (int s = 0; s < R; ++s) right[s] = b[i][x + s * kSide];
          TANDEM_UNROLL
          for (int r = 0; r < R; ++r) {
            TANDEM_UNROLL
            for (int s = 0; s < R; ++s) sums[r][s] = math::fma(left[r], right[s], sums[r][s]);
          }
        }
      }
      TANDEM_UNROLL
      for (int r = 0; r < R; ++r) {
        TANDEM_UNROLL
        for (int s = 0; s < R; ++s) {
          const Sum sum = p.alpha * sums[r][s];
          total[r][s] = begun ? sum + total[r][s] : sum;
        }
      }
      begun = true;
    }
    TANDEM_UNROLL
    for (int r = 0; r < R; ++r) {
      TANDEM_UNROLL
      for (int s = 0; s < R; ++s) {
        const int64_t row = first_row + y + r * kSide, column = first_column + x + s * kSide;
        if (row < p.m && column < p.n) put(p, batch, row, column, total[r][s]);
      }
    }
  }
}

// Lanes of a vector and of a set, and sets in a block.
template <class Sum>
struct Lanes {
  static constexpr int kWidth = 64 / static_cast<int>(sizeof(Sum)), kCount = 4 * kWidth, kRows = kThreads / kCount;
};

// The only column. A tile is as many rows as a block has sets of lanes. A set is four vectors of 64 bytes, of which the
// first also gets what is left of whole vectors. Lanes are added in order, and then single products.
template <class T>
__global__ void __launch_bounds__(kThreads) lanes_kernel(Product<T> p) {
  using Sum = computed_t<T>;
  constexpr int kWidth = Lanes<Sum>::kWidth, kLanes = Lanes<Sum>::kCount, kRows = Lanes<Sum>::kRows;
  __shared__ Sum sums[kRows][kLanes];
  const int set = static_cast<int>(threadIdx.x) / kLanes, lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t fours = p.k / kLanes * kLanes, vectors = p.k / kWidth * kWidth;
  for (int64_t tile = blockIdx.x; tile < p.tiles; tile += gridDim.x) {
    const int64_t at = tile * kRows + set, batch = at / p.m, row = at % p.m;
    const bool inside = batch < p.batches;
    const T* const a = p.a.data + (inside ? batch * p.a.batch + row * p.a.line : 0);
    const T* const b = p.b.data + (inside ? batch * p.b.batch : 0);
    const auto add = [&](int64_t i, Sum sum) {
      return math::fma(static_cast<Sum>(a[i * p.a.depth]), static_cast<Sum>(b[i * p.b.depth]), sum);
    };
    Sum sum = 0;
    if (inside) {
      for (int64_t i = lane; i < fours; i += kLanes) sum = add(i, sum);
      if (lane < kWidth)
        for (int64_t i = fours + lane; i < vectors; i += kWidth) sum = add(i, sum);
    }
    sums[set][lane] = sum;
    __syncthreads();
    if (inside && lane == 0) {
      const Sum* const s = sums[set];
      sum = 0;
      for (int i = 0; i < kWidth; ++i) sum += (s[i] + s[kWidth + i]) + (s[2 * kWidth + i] + s[3 * kWidth + i]);
      for (int64_t i = vectors; i < p.k; ++i) sum = add(i, sum);
      sum = p.alpha * sum;
      if (p.beta != 0 && !keeps_last(p)) sum += kept(p, batch, row, 0);
      put(p, batch, row, 0, sum);
    }
    __syncthreads();
  }
}

// How the CPU sums the only column of a product: in lanes, in pieces, or in one chain if the other operand is not
// contiguous. It copies a matrix that is in no order.
enum class Column { kLanes, kPieces, kChain };
Column column_of(const Tensor& a, const Tensor& b) {
  const MatrixLayout layout = matrix_layout(a.size(-2), a.size(-1), a.stride(-2), a.stride(-1));
  if (layout.transposed) return Column::kPieces;
  const int64_t k = b.size(-2), step = b.stride(-2);
  return k <= 1 || step <= 1 || b.element_size() == 2 ? Column::kLanes : Column::kChain;
}

}  // namespace

void matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
            const Tensor& bias) {
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  const bool batched = out.dim() == 3;
  const int64_t out_batch = batched ? out.stride(0) : 0;
  const char* const operation = bias.defined() ? "linear" : "matmul";
  dispatch(out.dtype(), StoredFloats{}, operation, [&]<class T>(Type<T>) {
    using Sum = computed_t<T>;
    Product<T> p{batched ? out.size(0) : 1,
                 out.size(-2),
                 out.size(-1),
                 alpha.to<Sum>() == 0 ? 0 : a.size(-1),
                 0,
                 {a.ptr<T>(), batched ? a.stride(0) : 0, a.stride(-2), a.stride(-1)},
                 {b.ptr<T>(), batched ? b.stride(0) : 0, b.stride(-1), b.stride(-2)},
                 bias.defined() ? bias.ptr<T>() : out.ptr<T>(),
                 bias.defined() ? 0 : out_batch,
                 bias.defined() ? 0 : out.stride(-2),
                 out.ptr<T>(),
                 out_batch,
                 out.stride(-2),
                 alpha.to<Sum>(),
                 beta.to<Sum>(),
                 1,
                 0};
    const Column column = p.n == 1 ? column_of(a, b) : Column::kPieces;
    if (column == Column::kLanes && p.k > 0) {
      p.tiles = ceil_div(p.batches * p.m, int64_t{Lanes<Sum>::kRows});
      return launch(operation, c, Grid{std::min(p.tiles, kMostBlocks), kThreads}, lanes_kernel<T>, p);
    }
    if (p.k > 0) p.piece = column == Column::kChain ? p.k : piece_depth<Sum>(p.k);
    // Large tiles read less, if there are enough of them for the GPU.
    constexpr int kLarge = 4;
    const auto cut = [&](int64_t lines) {
      p.tile_columns = ceil_div(p.n, lines);
      p.tiles = p.batches * ceil_div(p.m, lines) * p.tile_columns;
    };
    cut(kLarge * kSide);
    const bool large = std::min(p.m, p.n) > kSide && p.tiles >= c.gpu().multiprocessors;
    if (!large) cut(kSide);
    launch(operation, c, Grid{std::min(p.tiles, kMostBlocks), kThreads},
           large ? tile_kernel<kLarge, T> : tile_kernel<1, T>, p);
  });
}

}  // namespace tandem::cuda_impl::strict
