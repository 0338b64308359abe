// Small products of float32, for which cuBLAS takes kernels with few threads. A block computes a tile of out: it loads
// what that needs of a and b in steps along the inner dimension, and its parts add every kParts-th product of a step.
// The parts' sums are added last. The order of a sum depends on the inner size alone.
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/tensor.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/matmul_matrix.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kTile = 8, kParts = 4, kStep = 128, kThreads = kTile * kTile * kParts;

struct Lines {
  const float* data;
  int64_t line, inner;  // strides: from row to row of a or column to column of b, and along the inner dimension
  int lines;
};
struct Product {
  float* out;
  int64_t out_row;
  Lines a, b;
  const float* bias;  // one number per column of out, or null
  int k, tiles_in_row;
  float beta, alpha;
};

// Copies kStep numbers of kTile lines, and 0 where there are none. Neighbouring threads read neighbouring numbers.
__device__ void load(const Lines& from, int line, int start, int k, float (&to)[kTile][kStep + 1]) {
  TANDEM_UNROLL
  for (int i = 0; i < kTile * kStep / kThreads; ++i) {
    const int at = i * kThreads + static_cast<int>(threadIdx.x);
    const int x = from.inner == 1 ? at % kStep : at / kTile, y = from.inner == 1 ? at / kStep : at % kTile;
    const bool inside = line + y < from.lines && start + x < k;
    to[y][x] = inside ? from.data[(line + y) * from.line + (start + x) * from.inner] : 0.0f;
  }
}

__global__ void __launch_bounds__(kThreads) small_product(Product p) {
  __shared__ float a[kTile][kStep + 1], b[kTile][kStep + 1], sums[kParts][kTile * kTile];
  const int tile = static_cast<int>(blockIdx.x), row = tile / p.tiles_in_row * kTile,
            column = tile % p.tiles_in_row * kTile;
  const int thread = static_cast<int>(threadIdx.x), part = thread / (kTile * kTile), element = thread % (kTile * kTile);
  const int y = element / kTile, x = element % kTile;
  float sum = 0;
  for (int start = 0; start < p.k; start += kStep) {
    if (start > 0) __syncthreads();
    load(p.a, row, start, p.k, a);
    load(p.b, column, start, p.k, b);
    __syncthreads();
    const int end = min(kStep, p.k - start);
    for (int i = part; i < end; i += kParts) sum = fmaf(a[y][i], b[x][i], sum);
  }
  sums[part][element] = sum;
  __syncthreads();
  if (part != 0 || row + y >= p.a.lines || column + x >= p.b.lines) return;
  for (int other = 1; other < kParts; ++other) sum += sums[other][element];
  float& to = p.out[(row + y) * p.out_row + column + x];
  sum *= p.alpha;
  if (p.beta != 0) sum = fmaf(p.beta, to, sum);
  to = p.bias == nullptr ? sum : sum + p.bias[column + x];
}

}  // namespace

bool small_matmul_applies(const Tensor& out, int64_t inner) {
  constexpr int64_t kNarrow = 32, kMostProducts = int64_t{1} << 22, kMostSteps = 8;
  if (out.dtype() != kFloat || out.dim() != 2 || inner > kMostSteps * kStep) return false;
  const int64_t m = out.size(0), n = out.size(1);
  return std::min({m, n, inner}) <= kNarrow && std::max(m, n) <= kMostProducts && m * n * inner <= kMostProducts;
}

void small_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha,
                  const Tensor& bias) {
  const int64_t m = out.size(0), n = out.size(1), rows = ceil_div(m, kTile), columns = ceil_div(n, kTile);
  const Product p{out.ptr<float>(),
                  out.stride(0),
                  {a.ptr<float>(), a.stride(0), a.stride(1), static_cast<int>(m)},
                  {b.ptr<float>(), b.stride(1), b.stride(0), static_cast<int>(n)},
                  data_or_null<float>(bias),
                  static_cast<int>(a.size(1)),
                  static_cast<int>(columns),
                  beta.to<float>(),
                  alpha.to<float>()};
  launch(bias.defined() ? "linear" : "matmul", context(out.device()), Grid{rows * columns, kThreads}, small_product, p);
}

}  // namespace tandem::cuda_impl
