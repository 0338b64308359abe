// Matrix products of integers, which cuBLAS does not support: a tiled kernel, one element of out per thread.
// All arithmetic is modulo 2^bits, so 32 bits suffice for every type up to 32 bits, and the order of
// additions does not matter.
#include "tandem/core/tensor.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/matmul_matrix.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kTile = 16;

struct Strides {
  int64_t batch, row, column;
};
struct Shape {
  int m, n, k;
  uint32_t tile_columns, tiles;  // tiles of out per row, and per matrix
  Strides out, a, b;
};

template <class T, class Sum>
__global__ void product_kernel(Shape s, T* out, const T* a, const T* b, Sum beta, Sum alpha) {
  __shared__ Sum left[kTile][kTile + 1];
  __shared__ Sum right[kTile][kTile + 1];
  const uint32_t batch = blockIdx.x / s.tiles, tile = blockIdx.x - batch * s.tiles;
  const int x = static_cast<int>(threadIdx.x) % kTile, y = static_cast<int>(threadIdx.x) / kTile;
  const int64_t row = static_cast<int64_t>(tile / s.tile_columns) * kTile + y;
  const int64_t column = static_cast<int64_t>(tile % s.tile_columns) * kTile + x;
  a += batch * s.a.batch + row * s.a.row;
  b += batch * s.b.batch + column * s.b.column;
  Sum sum = 0;
  for (int start = 0; start < s.k; start += kTile) {
    left[y][x] = row < s.m && start + x < s.k ? static_cast<Sum>(a[(start + x) * s.a.column]) : Sum(0);
    right[y][x] = column < s.n && start + y < s.k ? static_cast<Sum>(b[(start + y) * s.b.row]) : Sum(0);
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += left[y][i] * right[i][x];
    __syncthreads();
  }
  if (row >= s.m || column >= s.n) return;
  T& to = out[batch * s.out.batch + row * s.out.row + column * s.out.column];
  to = static_cast<T>(alpha * sum + (beta == 0 ? Sum(0) : beta * static_cast<Sum>(to)));
}

Strides strides_of(const Tensor& t) { return {t.dim() == 3 ? t.stride(0) : 0, t.stride(-2), t.stride(-1)}; }

}  // namespace

void integer_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  Context& c = context(out.device());
  const int64_t m = out.size(-2), n = out.size(-1), k = a.size(-1), batch = out.dim() == 3 ? out.size(0) : 1;
  const int64_t rows = ceil_div(m, kTile), columns = ceil_div(n, kTile);
  check(m < INT32_MAX && n < INT32_MAX && k < INT32_MAX - kTile && rows * columns < INT32_MAX / batch,
        "matmul: integer matrices of this size are not supported on CUDA\n  ", a, "\n  ", b);
  const Shape shape{static_cast<int>(m),
                    static_cast<int>(n),
                    static_cast<int>(k),
                    static_cast<uint32_t>(columns),
                    static_cast<uint32_t>(rows * columns),
                    strides_of(out),
                    strides_of(a),
                    strides_of(b)};
  dispatch(out.dtype(), IntTypes{}, "matmul", [&]<class T>(Type<T>) {
    using Sum = std::conditional_t<sizeof(T) == 8, uint64_t, uint32_t>;
    launch("matmul", c, Grid{batch * rows * columns, kTile * kTile}, product_kernel<T, Sum>, shape, out.ptr<T>(),
           a.ptr<T>(), b.ptr<T>(), static_cast<Sum>(beta.to<T>()), static_cast<Sum>(alpha.to<T>()));
  });
}

}  // namespace tandem::cuda_impl
