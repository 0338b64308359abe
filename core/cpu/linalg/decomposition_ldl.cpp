// L D Lᵀ decompositions of symmetric matrices, L D Lᴴ of Hermitian ones, and solutions with them, in LAPACK's format:
// the diagonal pivoting of Bunch and Kaufman ("Some stable methods for calculating inertia and solving symmetric linear
// systems", 1977; Golub and Van Loan, "Matrix Computations", section 4.4). Eigen has no pivoting with blocks of 2.
#include <algorithm>
#include <cmath>
#include <utility>

#include "tandem/core/cpu/linalg/decomposition_complex.h"

namespace tandem::cpu {
namespace {

template <class T>
using Real = typename Eigen::NumTraits<T>::Real;

/// LAPACK's measure of pivots.
template <class T>
Real<T> size_of(const T& z) {
  return std::abs(Eigen::numext::real(z)) + std::abs(Eigen::numext::imag(z));
}

/// The other triangle of a symmetric or Hermitian matrix.
struct Mirror {
  template <class T>
  T operator()(const T& z) const {
    return hermitian ? Eigen::numext::conj(z) : z;
  }
  template <class T>
  void diagonal(T& z) const {  // it is real in a Hermitian matrix
    if (hermitian) z = Eigen::numext::real(z);
  }
  bool hermitian;
};

/// The block [p c'; c q] = scale [x u'; u y] of D, where ' is the mirror, and scale (x y - 1) its determinant / scale.
template <class T>
struct Block {
  Block(const T& p, const T& c, const T& q, Mirror mirror) {
    const T scale = mirror.hermitian ? T(std::abs(c)) : c;
    x = p / scale;
    y = q / scale;
    u = c / scale;
    mirrored_u = mirror(u);
    determinant = scale * (x * y - T(1));
  }
  T x, y, u, mirrored_u, determinant;
};

/// The row that is to become the last one of the block at `at`, and the rows of that block;
/// 0 if the column is 0 or NaN.
struct Choice {
  Eigen::Index row;
  int block;
};

template <class T>
Choice choose(const ColumnMatrix<T>& a, Eigen::Index at) {
  constexpr auto kBound = Real<T>(0.6403882032022076);  // (1 + √17) / 8
  const Eigen::Index n = a.rows();
  const Real<T> diagonal = size_of(a(at, at));
  Eigen::Index row = at;
  Real<T> below = 0;
  for (Eigen::Index i = at + 1; i < n; ++i)
    if (size_of(a(i, at)) > below) below = size_of(a(row = i, at));
  if (!(std::max(diagonal, below) > 0)) return {at, 0};
  if (diagonal >= kBound * below) return {at, 1};
  Real<T> beside = 0;  // the largest element of that row of the symmetric matrix, its diagonal excepted
  for (Eigen::Index j = at; j < n; ++j)
    if (j != row) beside = std::max(beside, size_of(j < row ? a(row, j) : a(j, row)));
  if (diagonal >= kBound * below * (below / beside)) return {at, 1};
  return {row, size_of(a(row, row)) >= kBound * beside ? 1 : 2};
}

/// Exchanges rows and columns i < j of the matrix of which `a` holds the lower triangle, from column `from` on.
template <class T>
void exchange(ColumnMatrix<T>& a, Eigen::Index from, Eigen::Index i, Eigen::Index j, Mirror mirror) {
  std::swap(a(i, i), a(j, j));
  for (Eigen::Index k = from; k < i; ++k) std::swap(a(i, k), a(j, k));
  for (Eigen::Index k = i + 1; k < j; ++k) {
    const T below = a(k, i);
    a(k, i) = mirror(a(j, k));
    a(j, k) = mirror(below);
  }
  a(j, i) = mirror(a(j, i));
  for (Eigen::Index k = j + 1; k < a.rows(); ++k) std::swap(a(k, i), a(k, j));
}

/// Subtracts the block's part from the rest of the lower triangle, and leaves the columns of L in the block's.
template <class T>
void eliminate(ColumnMatrix<T>& a, Eigen::Index at, int size, Mirror mirror) {
  const Eigen::Index n = a.rows(), rest = at + size;
  if (size == 1) {
    const T scale = T(1) / a(at, at);
    for (Eigen::Index j = rest; j < n; ++j) {
      const T factor = a(j, at) * scale;
      a.col(j).tail(n - j) -= mirror(factor) * a.col(at).tail(n - j);
      mirror.diagonal(a(j, j));
      a(j, at) = factor;
    }
    return;
  }
  // The inverse of scale [x u'; u y] is [y -u'; -u x] / (scale (x y - 1)).
  const Block<T> block(a(at, at), a(at + 1, at), a(at + 1, at + 1), mirror);
  const T scale = T(1) / block.determinant;
  for (Eigen::Index j = rest; j < n; ++j) {
    const T first = scale * (block.y * a(j, at) - block.u * a(j, at + 1)),
            second = scale * (block.x * a(j, at + 1) - block.mirrored_u * a(j, at));
    a.col(j).tail(n - j) -= mirror(first) * a.col(at).tail(n - j) + mirror(second) * a.col(at + 1).tail(n - j);
    mirror.diagonal(a(j, j));
    a(j, at) = first;
    a(j, at + 1) = second;
  }
}

/// Returns 1 + the position of the first block of 0, or 0.
template <class T, class Pivots>
Eigen::Index factor(ColumnMatrix<T>& a, Pivots pivots, Mirror mirror) {
  for (Eigen::Index i = 0; i < a.rows(); ++i) mirror.diagonal(a(i, i));
  Eigen::Index zero = 0;
  for (Eigen::Index at = 0; at < a.rows();) {
    const Choice choice = choose(a, at);
    const int block = std::max(choice.block, 1);
    const Eigen::Index last = at + block - 1;
    if (choice.row != last) exchange(a, at, last, choice.row, mirror);
    const auto pivot = static_cast<int32_t>(choice.row + 1);
    for (Eigen::Index i = at; i <= last; ++i) pivots[i] = block == 1 ? pivot : -pivot;
    if (choice.block == 0) {
      if (zero == 0) zero = at + 1;
    } else {
      eliminate(a, at, block, mirror);
    }
    at = last + 1;
  }
  return zero;
}

/// x = A⁻¹ x for A = Π (Pᵢ Lᵢ) D Π (Pᵢ Lᵢ)ᵀ, or ᴴ.
template <class T, class Pivots>
void solve(const ColumnMatrix<T>& a, Pivots pivots, ColumnMatrix<T>& x, Mirror mirror) {
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
      const Block<T> d(a(at, at), a(at + 1, at), a(at + 1, at + 1), mirror);
      for (Eigen::Index j = 0; j < x.cols(); ++j) {
        const T first = x(at, j), second = x(at + 1, j);
        x(at, j) = (d.y * first - d.mirrored_u * second) / d.determinant;
        x(at + 1, j) = (d.x * second - d.u * first) / d.determinant;
      }
    }
    at = rest;
  }
  while (at > 0) {
    const int block = pivots[at - 1] < 0 && at > 1 ? 2 : 1;
    const Eigen::Index rest = at;
    at -= block;
    const auto below = a.block(rest, at, n - rest, block);
    if (mirror.hermitian)
      x.middleRows(at, block) -= below.adjoint() * x.bottomRows(n - rest);
    else
      x.middleRows(at, block) -= below.transpose() * x.bottomRows(n - rest);
    swap_rows(rest - 1, std::abs(pivots[rest - 1]) - 1);
  }
}

}  // namespace

void ldl_factor(const Tensor& ld, const Tensor& pivots, const Tensor& info, const Tensor& a, bool hermitian) {
  if (a.is_complex())
    return for_complex_matrices(a, [&](int64_t i) {
      ComplexMatrix work = load_matrix(a, i).triangularView<Eigen::Lower>();
      info.ptr<int32_t>()[i] = static_cast<int32_t>(factor(work, vector_at<int32_t>(pivots, i), Mirror{hermitian}));
      store_matrix(ld, i, work);
    });
  for_matrices(a, "ldl_factor", [&]<class T>(Type<T>, int64_t i) {
    ColumnMatrix<T> work = matrix_at<T>(a, i).template triangularView<Eigen::Lower>();
    info.ptr<int32_t>()[i] = static_cast<int32_t>(factor(work, vector_at<int32_t>(pivots, i), Mirror{false}));
    matrix_at<T>(ld, i) = work.template triangularView<Eigen::Lower>();
  });
}

void ldl_solve(const Tensor& x, const Tensor& ld, const Tensor& pivots, const Tensor& b, bool hermitian) {
  if (b.is_complex())
    return for_complex_matrices(b, [&](int64_t i) {
      ComplexMatrix work = load_matrix(b, i);
      solve(load_matrix(ld, i), vector_at<int32_t>(pivots, i), work, Mirror{hermitian});
      store_matrix(x, i, work);
    });
  for_matrices(b, "ldl_solve", [&]<class T>(Type<T>, int64_t i) {
    const ColumnMatrix<T> factors = matrix_at<T>(ld, i);
    ColumnMatrix<T> work = matrix_at<T>(b, i);
    solve(factors, vector_at<int32_t>(pivots, i), work, Mirror{false});
    matrix_at<T>(x, i) = work;
  });
}

}  // namespace tandem::cpu
