// Eigenvalues of symmetric matrices and singular values on the CPU, by Eigen. float32 matrices are decomposed in float64:
// Eigen's templates take half a minute to compile and 0.2 MB per type.
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>

#include "tandem/core/cpu/decomposition.h"

namespace tandem::cpu {

using Matrix = ColumnMatrix<double>;

void eigh(const Tensor& values, const Tensor& vectors, const Tensor& info, const Tensor& a) {
  for_matrices(a, "eigh", [&]<class T>(Type<T>, int64_t i) {
    Matrix lower =
        matrix_at<T>(a, i).template triangularView<Eigen::Lower>().toDenseMatrix().template cast<double>();
    const bool finite = lower.allFinite();
    if (!finite) lower.setIdentity();
    const Eigen::SelfAdjointEigenSolver<Matrix> solver(
        lower, vectors.defined() ? Eigen::ComputeEigenvectors : Eigen::EigenvaluesOnly);
    info.ptr<int32_t>()[i] = finite && solver.info() == Eigen::Success ? 0 : 1;
    vector_at<T>(values, i) = solver.eigenvalues().template cast<T>();
    if (vectors.defined()) matrix_at<T>(vectors, i) = solver.eigenvectors().template cast<T>();
  });
}

void svd(const Tensor& u, const Tensor& s, const Tensor& vh, const Tensor& info, const Tensor& a) {
  unsigned wanted = 0;
  if (u.defined()) wanted |= u.size(-1) == a.size(-2) ? Eigen::ComputeFullU : Eigen::ComputeThinU;
  if (vh.defined()) wanted |= vh.size(-2) == a.size(-1) ? Eigen::ComputeFullV : Eigen::ComputeThinV;
  for_matrices(a, "svd", [&]<class T>(Type<T>, int64_t i) {
    Matrix work = matrix_at<T>(a, i).template cast<double>();
    const bool finite = work.allFinite();
    if (!finite) work.setZero();
    const Eigen::BDCSVD<Matrix> solver(work, wanted);
    info.ptr<int32_t>()[i] = finite && solver.info() == Eigen::Success ? 0 : 1;
    vector_at<T>(s, i) = solver.singularValues().template cast<T>();
    if (u.defined()) matrix_at<T>(u, i) = solver.matrixU().template cast<T>();
    if (vh.defined()) matrix_at<T>(vh, i) = solver.matrixV().transpose().template cast<T>();
  });
}

}  // namespace tandem::cpu
