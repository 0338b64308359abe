// Eigenvalues of general matrices on the CPU, by Eigen.
#include <Eigen/Eigenvalues>
#include <complex>

#include "tandem/core/cpu/decomposition.h"

namespace tandem::cpu {
namespace {

template <class C>
C* complex_data(const Tensor& t) {
  return static_cast<C*>(t.data_ptr());
}

// As LAPACK's geev returns them: of length 1, with a real number as the largest element.
template <class Matrix>
void normalize_columns(Matrix& vectors) {
  using C = typename Matrix::Scalar;
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) {
    auto v = vectors.col(j);
    v.normalize();
    Eigen::Index largest = 0;
    const auto size = v.cwiseAbs().maxCoeff(&largest);
    if (size == 0 || v(largest).imag() == 0) continue;
    v *= std::conj(v(largest)) / size;
    v(largest) = C(v(largest).real(), 0);
  }
}

// Whether the iteration has converged.
template <class Solver, class C>
bool solve(const ColumnMatrix<typename Solver::MatrixType::Scalar>& a, C* values, C* vectors) {
  const Eigen::Index n = a.rows();
  const Solver solver(a, vectors != nullptr);
  if (solver.info() != Eigen::Success) return false;
  Eigen::Map<Vector<C>>(values, n) = solver.eigenvalues();
  if (vectors == nullptr) return true;
  ColumnMatrix<C> columns = solver.eigenvectors();
  normalize_columns(columns);
  Eigen::Map<RowMatrix<C>>(vectors, n, n) = columns;
  return true;
}

template <class Element>
void eig_of(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  using C = std::complex<typename Eigen::NumTraits<Element>::Real>;
  using Matrix = ColumnMatrix<Element>;
  using Solver = std::conditional_t<Eigen::NumTraits<Element>::IsComplex, Eigen::ComplexEigenSolver<Matrix>,
                                    Eigen::EigenSolver<Matrix>>;
  const int64_t n = a.size(-1), count = a.numel() / (n * n);
  parallel_for(count, std::max<int64_t>(1, 1024 / (n * n * n)), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const Matrix work = Eigen::Map<const RowMatrix<Element>>(complex_data<Element>(a) + i * n * n, n, n);
      C* to = complex_data<C>(values) + i * n;
      C* columns = vectors.defined() ? complex_data<C>(vectors) + i * n * n : nullptr;
      info.ptr<int32_t>()[i] = work.allFinite() && solve<Solver>(work, to, columns) ? 0 : 1;
    }
  });
}

}  // namespace

void eig(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  switch (a.scalar_type()) {
    case kFloat:
      return eig_of<float>(values, vectors, info, a);
    case kDouble:
      return eig_of<double>(values, vectors, info, a);
    case kComplexFloat:
      return eig_of<std::complex<float>>(values, vectors, info, a);
    case kComplexDouble:
      return eig_of<std::complex<double>>(values, vectors, info, a);
    default:
      unsupported_dtype("eig", a.scalar_type());
  }
}

}  // namespace tandem::cpu
