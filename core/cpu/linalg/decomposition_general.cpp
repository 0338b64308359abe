// Eigenvalues of general matrices on the CPU, by Eigen, which decomposes float32 matrices in float64, as in
// decomposition_spectral.cpp.
#include <Eigen/Eigenvalues>
#include <complex>

#include "tandem/core/cpu/linalg/decomposition.h"

namespace tandem::cpu {
namespace {

template <class C>
C* complex_data(const Tensor& t) {
  return static_cast<C*>(t.data_ptr());
}

// As LAPACK's geev returns them: of length 1, with a real number as the largest element.
void normalize_columns(ColumnMatrix<std::complex<double>>& vectors) {
  for (Eigen::Index j = 0; j < vectors.cols(); ++j) {
    auto v = vectors.col(j);
    v.normalize();
    Eigen::Index largest = 0;
    const double size = v.cwiseAbs().maxCoeff(&largest);
    if (size == 0 || v(largest).imag() == 0) continue;
    v *= std::conj(v(largest)) / size;
    v(largest) = v(largest).real();
  }
}

// The eigenvalues and, if wanted, the eigenvectors; false if the iteration does not converge.
template <class Element>
bool solve(const ColumnMatrix<Element>& a, Vector<std::complex<double>>& values,
           ColumnMatrix<std::complex<double>>* vectors) {
  using Solver =
      std::conditional_t<Eigen::NumTraits<Element>::IsComplex, Eigen::ComplexEigenSolver<ColumnMatrix<Element>>,
                         Eigen::EigenSolver<ColumnMatrix<Element>>>;
  const Solver solver(a, vectors != nullptr);
  if (solver.info() != Eigen::Success) return false;
  values = solver.eigenvalues();
  if (vectors == nullptr) return true;
  *vectors = solver.eigenvectors();
  normalize_columns(*vectors);
  return true;
}

template <class Element>
void eig_of(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  using C = std::complex<typename Eigen::NumTraits<Element>::Real>;
  using Wide = std::conditional_t<Eigen::NumTraits<Element>::IsComplex, std::complex<double>, double>;
  const int64_t n = a.size(-1), count = a.numel() / (n * n);
  parallel_for(count, std::max<int64_t>(1, 1024 / (n * n * n)), [&](int64_t begin, int64_t end) {
    Vector<std::complex<double>> found;
    ColumnMatrix<std::complex<double>> columns;
    for (int64_t i = begin; i < end; ++i) {
      const ColumnMatrix<Wide> work =
          Eigen::Map<const RowMatrix<Element>>(complex_data<Element>(a) + i * n * n, n, n).template cast<Wide>();
      const bool solved = work.allFinite() && solve(work, found, vectors.defined() ? &columns : nullptr);
      info.ptr<int32_t>()[i] = solved ? 0 : 1;
      if (!solved) continue;
      Eigen::Map<Vector<C>>(complex_data<C>(values) + i * n, n) = found.template cast<C>();
      if (vectors.defined())
        Eigen::Map<RowMatrix<C>>(complex_data<C>(vectors) + i * n * n, n, n) = columns.template cast<C>();
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
