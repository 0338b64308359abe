// Eigenvalues of Hermitian matrices and singular values of complex matrices on the CPU, by Eigen. Reflections make the
// matrices tridiagonal or bidiagonal with real elements, which the decompositions of real matrices finish (Golub and
// Van Loan, "Matrix Computations", sections 8.3 and 8.6): Eigen's own for complex matrices take twice as long to
// compile.
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include "tandem/core/cpu/linalg/decomposition_complex.h"

namespace tandem::cpu {
namespace {

/// Divides the matrix by its largest element, so that no square overflows, and returns that; a matrix that is not
/// finite becomes 0, and the result NaN.
double scale_to_one(ComplexMatrix& a) {
  if (!a.allFinite()) {
    a.setZero();
    return std::numeric_limits<double>::quiet_NaN();
  }
  // As parts, because Eigen's quotients of complex numbers square the divisor.
  Eigen::Map<ColumnMatrix<double>> parts(reinterpret_cast<double*>(a.data()), 2 * a.rows(), a.cols());
  const double largest = parts.cwiseAbs().maxCoeff();
  if (largest == 0) return 1;
  parts /= largest;
  return largest;
}

/// I - factor v vᴴ, which turns x into (beta, 0, …), beta real.
struct Reflector {
  explicit Reflector(const ComplexVector& x) : v(x.size()) {
    ComplexVector essential(x.size() - 1);
    x.makeHouseholder(essential, factor, beta);
    v << 1, essential;
  }
  ComplexVector v;
  std::complex<double> factor;
  double beta;
};

/// U B Vᴴ = a with at least as many rows as columns and a real bidiagonal B, U and V as products of reflectors.
struct Bidiagonal {
  explicit Bidiagonal(ComplexMatrix& a)
      : b(ColumnMatrix<double>::Zero(a.cols(), a.cols())),
        left(ComplexMatrix::Zero(a.rows(), a.cols())),
        right(ComplexMatrix::Zero(a.cols() - 1, a.cols() - 1)),
        left_factors(a.cols()),
        right_factors(a.cols() - 1) {
    const Eigen::Index m = a.rows(), n = a.cols();
    for (Eigen::Index k = 0; k < n; ++k) {
      const Reflector column(a.col(k).tail(m - k));
      b(k, k) = column.beta;
      left.col(k).tail(m - k) = column.v;
      left_factors(k) = std::conj(column.factor);
      if (k + 1 == n) return;
      auto rest = a.bottomRightCorner(m - k, n - k - 1);
      const ComplexVector along = rest.adjoint() * column.v;
      rest.noalias() -= column.factor * column.v * along.adjoint();
      const Reflector row(rest.row(0).adjoint());
      b(k, k + 1) = row.beta;
      right.col(k).tail(n - k - 1) = row.v;
      right_factors(k) = std::conj(row.factor);
      const ComplexVector across = rest * row.v;
      rest.noalias() -= right_factors(k) * across * row.v.adjoint();
    }
  }
  ColumnMatrix<double> b;
  ComplexMatrix left, right;
  ComplexVector left_factors, right_factors;
};

// The singular values of a with at least as many rows as columns, which is overwritten; u and v are filled if they are
// not null, with as many columns as they have.
bool decompose(ComplexMatrix& a, Vector<double>& s, ComplexMatrix* u, ComplexMatrix* v) {
  const Eigen::Index n = a.cols();
  const Bidiagonal reduced(a);
  ColumnMatrix<double> left, right;
  const unsigned wanted = (u ? Eigen::ComputeFullU : 0) | (v ? Eigen::ComputeFullV : 0);
  if (!real_svd(reduced.b, wanted, s, left, right)) return false;
  if (u) {
    u->setIdentity();
    u->topLeftCorner(n, n) = left.cast<std::complex<double>>();
    apply_reflectors(reduced.left, reduced.left_factors, *u);
  }
  if (v) {
    *v = right.cast<std::complex<double>>();
    ComplexMatrix below = v->bottomRows(n - 1);
    if (n > 1) apply_reflectors(reduced.right, reduced.right_factors, below);
    v->bottomRows(n - 1) = below;
  }
  return true;
}

}  // namespace

void complex_eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  for_complex_matrices(a, [&](int64_t i) {
    ComplexMatrix lower = load_matrix(a, i).triangularView<Eigen::Lower>();
    lower.diagonal().imag().setZero();
    const double scale = scale_to_one(lower);
    const Eigen::Tridiagonalization<ComplexMatrix> reduced(lower);
    Vector<double> found;
    ColumnMatrix<double> inner;
    const bool solved = real_eigh(reduced.matrixT(), vectors.defined(), found, inner);
    info.ptr<int32_t>()[i] = std::isfinite(scale) && solved ? 0 : 1;
    store_reals(values, i, found * scale);
    if (!vectors.defined()) return;
    ComplexMatrix outer = inner.cast<std::complex<double>>();
    outer.applyOnTheLeft(reduced.matrixQ());
    store_matrix(vectors, i, outer);
  });
}

void complex_svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a) {
  const bool wide = a.size(-2) < a.size(-1);
  for_complex_matrices(a, [&](int64_t i) {
    ComplexMatrix work = load_matrix(a, i);
    if (wide) work.adjointInPlace();
    const double scale = scale_to_one(work);
    Vector<double> found;
    ComplexMatrix left, right;
    if (u.defined()) {
      left.resize(u.size(-2), u.size(-1));
      right.resize(vh.size(-1), vh.size(-2));
      if (wide) left.swap(right);
    }
    const bool solved = decompose(work, found, u.defined() ? &left : nullptr, u.defined() ? &right : nullptr);
    info.ptr<int32_t>()[i] = std::isfinite(scale) && solved ? 0 : 1;
    if (!solved) return;
    store_reals(s, i, found * scale);
    if (!u.defined()) return;
    if (wide) left.swap(right);
    store_matrix(u, i, left);
    store_matrix(vh, i, right.adjoint());
  });
}

}  // namespace tandem::cpu
