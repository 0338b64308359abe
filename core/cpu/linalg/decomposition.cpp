// LU, Cholesky and QR decompositions and triangular solutions on the CPU, by Eigen. The internal functions of Eigen
// used here also report the position at which a decomposition fails, and decompose matrices that are not square.
#include "tandem/core/cpu/linalg/decomposition_complex.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>

#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

void lu_factor(const Tensor& lu, const Tensor& pivots, const Tensor& info, const Tensor& a) {
  if (a.is_complex()) return complex_lu_factor(lu, pivots, info, a);
  for_matrices(a, "lu_factor", [&]<class T>(Type<T>, int64_t i) {
    ColumnMatrix<T> work = matrix_at<T>(a, i);
    auto exchanged = vector_at<int32_t>(pivots, i);
    int32_t count = 0;
    using Lu = Eigen::internal::partial_lu_impl<T, Eigen::ColMajor, int32_t>;
    const Eigen::Index zero =
        Lu::blocked_lu(work.rows(), work.cols(), work.data(), work.rows(), exchanged.data(), count);
    exchanged.array() += 1;
    info.ptr<int32_t>()[i] = static_cast<int32_t>(zero + 1);
    matrix_at<T>(lu, i) = work;
  });
}

void cholesky(const Tensor& l, const Tensor& info, const Tensor& a) {
  if (a.is_complex()) return complex_cholesky(l, info, a);
  for_matrices(a, "cholesky", [&]<class T>(Type<T>, int64_t i) {
    ColumnMatrix<T> work = matrix_at<T>(a, i).template triangularView<Eigen::Lower>();
    Eigen::Index failed = Eigen::internal::llt_inplace<T, Eigen::Lower>::blocked(work) + 1;
    for (Eigen::Index k = 0; failed == 0 && k < work.rows(); ++k)
      if (!(work(k, k) > T(0))) failed = k + 1;  // NaN passes Eigen's own test
    info.ptr<int32_t>()[i] = static_cast<int32_t>(failed);
    matrix_at<T>(l, i) = work.template triangularView<Eigen::Lower>();
  });
}

void geqrf(const Tensor& qr, const Tensor& tau, const Tensor& a) {
  if (a.is_complex()) return complex_geqrf(qr, tau, a);
  for_matrices(a, "geqrf", [&]<class T>(Type<T>, int64_t i) {
    const Eigen::HouseholderQR<ColumnMatrix<T>> reflectors{ColumnMatrix<T>(matrix_at<T>(a, i))};
    matrix_at<T>(qr, i) = reflectors.matrixQR();
    vector_at<T>(tau, i) = reflectors.hCoeffs();
  });
}

void householder_product(const Tensor& q, const Tensor& a, const Tensor& tau) {
  if (a.is_complex()) return complex_householder_product(q, a, tau);
  for_matrices(q, "householder_product", [&]<class T>(Type<T>, int64_t i) {
    const ColumnMatrix<T> vectors = matrix_at<T>(a, i);
    const Vector<T> factors = vector_at<T>(tau, i);
    ColumnMatrix<T> work = ColumnMatrix<T>::Identity(q.size(-2), q.size(-1));
    work.applyOnTheLeft(Eigen::householderSequence(vectors, factors).setLength(factors.size()));
    matrix_at<T>(q, i) = work;
  });
}

void solve_triangular(const Tensor& x, const Tensor& a, const Tensor& b, bool upper, bool unit) {
  if (a.is_complex()) return complex_solve_triangular(x, a, b, upper, unit);
  for_matrices(b, "solve_triangular", [&]<class T>(Type<T>, int64_t i) {
    const auto factor = matrix_at<T>(a, i);
    ColumnMatrix<T> work = matrix_at<T>(b, i);
    if (upper && unit)
      factor.template triangularView<Eigen::UnitUpper>().solveInPlace(work);
    else if (upper)
      factor.template triangularView<Eigen::Upper>().solveInPlace(work);
    else if (unit)
      factor.template triangularView<Eigen::UnitLower>().solveInPlace(work);
    else
      factor.template triangularView<Eigen::Lower>().solveInPlace(work);
    matrix_at<T>(x, i) = work;
  });
}

}  // namespace

constinit const DecompositionKernels decomposition_kernels{
    .lu_factor = lu_factor,
    .cholesky = cholesky,
    .geqrf = geqrf,
    .householder_product = householder_product,
    .eigh = eigh,
    .eig = eig,
    .svd = svd,
    .ldl_factor = ldl_factor,
    .ldl_solve = ldl_solve,
    .solve_triangular = solve_triangular,
};

}  // namespace tandem::cpu
