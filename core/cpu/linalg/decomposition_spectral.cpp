// Eigenvalues of symmetric matrices and singular values on the CPU, by Eigen. float32 matrices are decomposed in
// float64: Eigen's templates take half a minute to compile and 0.2 MB per type.
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include "tandem/core/cpu/linalg/decomposition_complex.h"

namespace tandem::cpu {

using Matrix = ColumnMatrix<double>;

bool real_eigh(const Matrix& a, bool with_vectors, Vector<double>& values, Matrix& vectors) {
  const Eigen::SelfAdjointEigenSolver<Matrix> solver(
      a, with_vectors ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
  values = solver.eigenvalues();
  if (with_vectors) vectors = solver.eigenvectors();
  return solver.info() == Eigen::Success;
}

bool real_svd(const Matrix& a, unsigned wanted, Vector<double>& s, Matrix& u, Matrix& v) {
  const Eigen::BDCSVD<Matrix> solver(a, wanted);
  s = solver.singularValues();
  if (solver.computeU()) u = solver.matrixU();
  if (solver.computeV()) v = solver.matrixV();
  return solver.info() == Eigen::Success;
}

void eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  if (a.is_complex()) return complex_eigh(values, vectors, info, a);
  for_matrices(a, "eigh", [&]<class T>(Type<T>, int64_t i) {
    Matrix lower = matrix_at<T>(a, i).template triangularView<Eigen::Lower>().toDenseMatrix().template cast<double>();
    const bool finite = lower.allFinite();
    if (!finite) lower.setIdentity();
    Vector<double> found;
    Matrix columns;
    const bool solved = real_eigh(lower, vectors.defined(), found, columns);
    info.ptr<int32_t>()[i] = finite && solved ? 0 : 1;
    vector_at<T>(values, i) = found.cast<T>();
    if (vectors.defined()) matrix_at<T>(vectors, i) = columns.cast<T>();
  });
}

void svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a) {
  if (a.is_complex()) return complex_svd(u, s, vh, info, a);
  unsigned wanted = 0;
  if (u.defined()) wanted |= u.size(-1) == a.size(-2) ? Eigen::ComputeFullU : Eigen::ComputeThinU;
  if (vh.defined()) wanted |= vh.size(-2) == a.size(-1) ? Eigen::ComputeFullV : Eigen::ComputeThinV;
  for_matrices(a, "svd", [&]<class T>(Type<T>, int64_t i) {
    Matrix work = matrix_at<T>(a, i).template cast<double>(), left, right;
    const bool finite = work.allFinite();
    if (!finite) work.setZero();
    Vector<double> found;
    const bool solved = real_svd(work, wanted, found, left, right);
    info.ptr<int32_t>()[i] = finite && solved ? 0 : 1;
    vector_at<T>(s, i) = found.cast<T>();
    if (u.defined()) matrix_at<T>(u, i) = left.cast<T>();
    if (vh.defined()) matrix_at<T>(vh, i) = right.transpose().cast<T>();
  });
}

}  // namespace tandem::cpu
