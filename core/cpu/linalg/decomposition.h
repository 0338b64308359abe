// Loops over batches of matrices for the decompositions. Include it only in decomposition*.cpp, the sources that see
// Eigen.
#pragma once
#include <Eigen/Core>

#include "tandem/core/backend/decomposition.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/reproducible.h"

namespace tandem::cpu {

/// Eigen's own layout, which its decompositions are written for.
template <class T>
using ColumnMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic>;
template <class T>
using RowMatrix = Eigen::Matrix<T, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
template <class T>
using Vector = Eigen::Matrix<T, Eigen::Dynamic, 1>;

/// Matrix number i of a row-major tensor.
template <class T>
Eigen::Map<RowMatrix<T>> matrix_at(const Tensor& t, int64_t i) {
  const int64_t m = t.size(-2), n = t.size(-1);
  return {t.ptr<T>() + i * m * n, m, n};
}
/// Vector number i of a row-major tensor.
template <class T>
Eigen::Map<Vector<T>> vector_at(const Tensor& t, int64_t i) {
  const int64_t n = t.size(-1);
  return {t.ptr<T>() + i * n, n};
}

/// Eigen's blocks depend on the caches' sizes, and its vectors on the instruction set.
inline constexpr const char* kEigenReason = "Eigen computes it, in an order that depends on the processor";

/// Calls body(Type<T>, i) for every matrix of a real tensor. Each is the work of one thread, so results do not depend
/// on their number.
template <class Body>
void for_matrices(const Tensor& a, const char* name, Body body) {
  check_reproducible(name, kEigenReason);
  const int64_t m = a.size(-2), n = a.size(-1), count = a.numel() / (m * n);
  const int64_t work = std::max<int64_t>(1, m * n * std::min(m, n));
  dispatch(a.dtype(), FloatTypes{}, name, [&]<class T>(Type<T> type) {
    parallel_for_each(count, std::max<int64_t>(1, 16384 / work), [&](int64_t i) { body(type, i); });
  });
}

void ldl_factor(const Tensor& ld, const Tensor& pivots, const Tensor& info, const Tensor& a, bool hermitian);
void ldl_solve(const Tensor& x, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian);
void eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a);
void eig(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a);
void svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a);

}  // namespace tandem::cpu
