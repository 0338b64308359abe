// L D Lᵀ decompositions of symmetric matrices, and solutions with them, in LAPACK's format: the diagonal pivoting of Bunch
// and Kaufman ("Some stable methods for calculating inertia and solving symmetric linear systems", 1977; Golub and Van
// Loan, "Matrix Computations", section 4.4). Eigen has no pivoting with blocks of 2.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/core/cpu/decomposition.h"

namespace tandem::cpu {
namespace {

/// The row that is to become the last one of the block at `at`, and the rows of that block; 0 if the column is 0 or NaN.
struct Choice {
  Eigen::Index row;
  int block;
};

template <class T>
Choice choose(const ColumnMatrix<T>& a, Eigen::Index at) {
  constexpr T kBound = T(0.6403882032022076);  // (1 + √17) / 8
  const Eigen::Index n = a.rows();
  const T diagonal = std::abs(a(at, at));
  Eigen::Index row = at;
  T below = 0;
  for (Eigen::Index i = at + 1; i < n; ++i)
    if (std::abs(a(i, at)) > below) below = std::abs(a(row = i, at));
  if (!(std::max(diagonal, below) > 0)) return {at, 0};
  if (diagonal >= kBound * below) return {at, 1};
  T beside = 0;  // the largest element of that row of the symmetric matrix, its diagonal excepted
  for (Eigen::Index j = at; j < n; ++j)
    if (j != row) beside = std::max(beside, std::abs(j < row ? a(row, j) : a(j, row)));
  if (diagonal >= kBound * below * (below / beside)) return {at, 1};
  return {row, std::abs(a(row, row)) >= kBound * beside ? 1 : 2};
}

/// Exchanges rows and columns i < j of the symmetric matrix of which `a` holds the lower triangle, from column `from` on.
template <class T>
void exchange(ColumnMatrix<T>& a, Eigen::Index from, Eigen::Index i, Eigen::Index j) {
  std::swap(a(i, i), a(j, j));
  for (Eigen::Index k = from; k < i; ++k) std::swap(a(i, k), a(j, k));
  for (Eigen::Index k = i + 1; k < j; ++k) std::swap(a(k, i), a(j, k));
  for (Eigen::Index k = j + 1; k < a.rows(); ++k) std::swap(a(k, i), a(k, j));
}

/// Subtracts the block's part from the rest of the lower triangle, and leaves the columns of L in the block's.
template <class T>
void eliminate(ColumnMatrix<T>& a, Eigen::Index at, int block) {
  const Eigen::Index n = a.rows(), rest = at + block;
  if (block == 1) {
    const T scale = T(1) / a(at, at);
    for (Eigen::Index j = rest; j < n; ++j) {
      const T factor = a(j, at) * scale;
      a.col(j).tail(n - j) -= factor * a.col(at).tail(n - j);
      a(j, at) = factor;
    }
    return;
  }
  // The block is [p c; c q] = c [x 1; 1 y], whose inverse is [y -1; -1 x] / (c (x y - 1)).
  const T c = a(at + 1, at), x = a(at, at) / c, y = a(at + 1, at + 1) / c, scale = T(1) / (c * (x * y - 1));
  for (Eigen::Index j = rest; j < n; ++j) {
    const T first = scale * (y * a(j, at) - a(j, at + 1)), second = scale * (x * a(j, at + 1) - a(j, at));
    a.col(j).tail(n - j) -= first * a.col(at).tail(n - j) + second * a.col(at + 1).tail(n - j);
    a(j, at) = first;
    a(j, at + 1) = second;
  }
}

/// Returns 1 + the position of the first block of 0, or 0.
template <class T, class Pivots>
Eigen::Index factor(ColumnMatrix<T>& a, Pivots pivots) {
  Eigen::Index zero = 0;
  for (Eigen::Index at = 0; at < a.rows();) {
    const Choice choice = choose(a, at);
    const int block = std::max(choice.block, 1);
    const Eigen::Index last = at + block - 1;
    if (choice.row != last) exchange(a, at, last, choice.row);
    const auto pivot = static_cast<int32_t>(choice.row + 1);
    for (Eigen::Index i = at; i <= last; ++i) pivots[i] = block == 1 ? pivot : -pivot;
    if (choice.block == 0) {
      if (zero == 0) zero = at + 1;
    } else {
      eliminate(a, at, block);
    }
    at = last + 1;
  }
  return zero;
}

/// x = A⁻¹ x for A = Π (Pᵢ Lᵢ) D Π (Pᵢ Lᵢ)ᵀ.
template <class T, class Pivots>
void solve(const ColumnMatrix<T>& a, Pivots pivots, ColumnMatrix<T>& x) {
  const Eigen::Index n = a.rows();
  const auto swap_rows = [&x](Eigen::Index i, Eigen::Index j) {
    if (i != j) x.row(i).swap(x.row(j));
  };
  Eigen::Index at = 0;
  while (at < n) {
    const int block = pivots[at] < 0 && at + 1 < n ? 2 : 1;
    const Eigen::Index rest = at + block;
    swap_rows(rest - 1, std::abs(pivots[at]) - 1);
    x.bottomRows(n - rest) -= a.block(rest, at, n - rest, block) * x.middleRows(at, block);
    if (block == 1) {
      x.row(at) /= a(at, at);
    } else {
      const T c = a(at + 1, at), p = a(at, at) / c, q = a(at + 1, at + 1) / c, scale = c * (p * q - 1);
      for (Eigen::Index j = 0; j < x.cols(); ++j) {
        const T first = x(at, j), second = x(at + 1, j);
        x(at, j) = (q * first - second) / scale;
        x(at + 1, j) = (p * second - first) / scale;
      }
    }
    at = rest;
  }
  while (at > 0) {
    const int block = pivots[at - 1] < 0 && at > 1 ? 2 : 1;
    const Eigen::Index rest = at;
    at -= block;
    x.middleRows(at, block) -= a.block(rest, at, n - rest, block).transpose() * x.bottomRows(n - rest);
    swap_rows(rest - 1, std::abs(pivots[rest - 1]) - 1);
  }
}

}  // namespace

void ldl_factor(const Tensor& ld, const Tensor& pivots, const Tensor& info, const Tensor& a) {
  for_matrices(a, "ldl_factor", [&]<class T>(Type<T>, int64_t i) {
    ColumnMatrix<T> work = matrix_at<T>(a, i).template triangularView<Eigen::Lower>();
    info.ptr<int32_t>()[i] = static_cast<int32_t>(factor(work, vector_at<int32_t>(pivots, i)));
    matrix_at<T>(ld, i) = work.template triangularView<Eigen::Lower>();
  });
}

void ldl_solve(const Tensor& x, const Tensor& ld, const Tensor& pivots, const Tensor& b) {
  for_matrices(b, "ldl_solve", [&]<class T>(Type<T>, int64_t i) {
    const ColumnMatrix<T> factors = matrix_at<T>(ld, i);
    ColumnMatrix<T> work = matrix_at<T>(b, i);
    solve(factors, vector_at<int32_t>(pivots, i), work);
    matrix_at<T>(x, i) = work;
  });
}

}  // namespace tandem::cpu
