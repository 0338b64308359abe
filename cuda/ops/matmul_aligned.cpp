// Large products of half types whose rows begin anywhere. cuBLAS's fast kernels for tensor cores move 16 bytes at once;
// for other matrices, as those with a vocabulary of 50,257, it takes kernels that need six to eight times as long.
//
// An operand is copied into aligned rows. The result is not, because every eighth row of it is aligned like the first
// one: such rows are a matrix whose columns, from an aligned one on, are an aligned product. The first and the last few
// columns are computed for all rows at once and copied.
#include <numeric>

#include "tandem/cuda/ops/matmul_matrix.h"

namespace tandem::cuda_impl {
namespace {

constexpr int64_t kBytes = 16, kWhole = 8;  // a half type's elements in so many bytes

bool transposed(const Tensor& t) {
  const MatrixLayout layout = matrix_layout(t.size(0), t.size(1), t.stride(0), t.stride(1));
  return layout.dense && layout.transposed;
}
bool aligned(const Tensor& t) {
  const MatrixLayout layout = matrix_layout(t.size(0), t.size(1), t.stride(0), t.stride(1));
  return layout.dense && layout.ld % kWhole == 0 && reinterpret_cast<uintptr_t>(t.data_ptr()) % kBytes == 0;
}
int64_t whole(int64_t size) { return size / kWhole * kWhole; }

/// From `from` to `to` along a dimension, every step-th.
Tensor part(const Tensor& t, std::size_t dim, int64_t from, int64_t to, int64_t step = 1) {
  Dims sizes(t.sizes()), strides(t.strides());
  const int64_t offset = t.storage_offset() + from * strides[dim];
  sizes[dim] = (to - from + step - 1) / step;
  strides[dim] *= step;
  return alias(t, sizes, strides, offset);
}
Tensor rows(const Tensor& t, int64_t from, int64_t to) { return part(t, 0, from, to); }
Tensor columns(const Tensor& t, int64_t from, int64_t to) { return part(t, 1, from, to); }

/// A copy in aligned rows, or if `by_columns` in aligned columns.
Tensor realigned(const Tensor& t, bool by_columns) {
  const int64_t lines = t.size(by_columns ? 1 : 0), ld = whole(t.size(by_columns ? 0 : 1) + kWhole - 1);
  const Tensor room = empty_raw({lines, ld}, t.dtype(), t.device());
  Tensor copy = alias(room, t.sizes(), by_columns ? Dims{1, ld} : Dims{ld, 1}, 0);
  copy_raw(copy, t);
  return copy;
}

/// out = alpha a b + beta out for aligned matrices. cuBLAS also wants whole vectors along dimensions whose elements are
/// neighbours: what such a size has beyond them is a product of its own, and along the inner one the first term of the
/// sum.
void multiply(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const int64_t m = out.size(0), n = out.size(1), k = a.size(1);
  if (whole(n) != n) {
    multiply(columns(out, 0, whole(n)), a, columns(b, 0, whole(n)), beta, alpha);
    blas_matmul(columns(out, whole(n), n), a, columns(b, whole(n), n), beta, alpha);
  } else if (whole(m) != m && transposed(a)) {
    multiply(rows(out, 0, whole(m)), rows(a, 0, whole(m)), b, beta, alpha);
    blas_matmul(rows(out, whole(m), m), rows(a, whole(m), m), b, beta, alpha);
  } else if (whole(k) != k && (!transposed(a) || transposed(b))) {
    blas_matmul(out, columns(a, whole(k), k), rows(b, whole(k), k), beta, alpha);
    blas_matmul(out, columns(a, 0, whole(k)), rows(b, 0, whole(k)), 1, alpha);
  } else {
    blas_matmul(out, a, b, beta, alpha);
  }
}

/// The same for any rows of out, if a is row-major and b column-major: rows of the one and columns of the other may then
/// be left out.
void multiply_into_unaligned(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta,
                             const Scalar& alpha) {
  const int64_t m = out.size(0), n = out.size(1), row = out.stride(0);
  const auto start = static_cast<int64_t>(reinterpret_cast<uintptr_t>(out.data_ptr()) % kBytes) / out.element_size();
  const std::pair<int64_t, int64_t> ends[] = {{0, kWhole}, {n - kWhole, n}};
  Tensor edges[2];
  for (std::size_t i = 0; i < 2; ++i) {
    const auto [from, to] = ends[i];
    edges[i] = empty_raw({m, kWhole}, out.dtype(), out.device());
    if (!beta.equal(0)) copy_raw(edges[i], columns(out, from, to));
    blas_matmul(edges[i], a, columns(b, from, to), beta, alpha);
  }
  const int64_t groups = kWhole / std::gcd(kWhole, row);
  for (int64_t r = 0; r < std::min(groups, m); ++r) {
    const int64_t from = (kWhole - (start + r * row) % kWhole) % kWhole, to = from + whole(n - from);
    multiply(columns(part(out, 0, r, m, groups), from, to), part(a, 0, r, m, groups), columns(b, from, to), beta,
             alpha);
  }
  for (std::size_t i = 0; i < 2; ++i) copy_raw(columns(out, ends[i].first, ends[i].second), edges[i]);
}

}  // namespace

bool aligned_matmul_applies(const Tensor& out, const Tensor& a, const Tensor& b) {
  // Below, the copies and the further products cost more than they gain.
  constexpr int64_t kLeast = 256, kLeastProducts = int64_t{1} << 31;
  if (out.element_size() != 2 || !is_floating_point(out.dtype()) || out.dim() != 2) return false;
  const int64_t m = out.size(0), n = out.size(1), k = a.size(1);
  if (std::min({m, n, k}) < kLeast || m * n < kLeastProducts / k) return false;
  return !aligned(out) || !aligned(a) || !aligned(b) || whole(n) != n || (whole(m) != m && transposed(a)) ||
         (whole(k) != k && (!transposed(a) || transposed(b)));
}

void aligned_matmul(const Tensor& out, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  const bool placed = aligned(out), by_columns_a = placed && transposed(a), by_columns_b = !placed || transposed(b);
  const Tensor x = aligned(a) && transposed(a) == by_columns_a ? a : realigned(a, by_columns_a),
               y = aligned(b) && transposed(b) == by_columns_b ? b : realigned(b, by_columns_b);
  placed ? multiply(out, x, y, beta, alpha) : multiply_into_unaligned(out, x, y, beta, alpha);
}

}  // namespace tandem::cuda_impl
