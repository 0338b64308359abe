// LU, Cholesky and QR decompositions of complex matrices, and triangular solutions, by Eigen.
#include "tandem/core/cpu/linalg/decomposition_complex.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>

namespace tandem::cpu {
namespace {

using C = std::complex<double>;

template <class T, class Body>
void read_as(const Tensor& t, int64_t at, int64_t count, Body body) {
  const auto* from = static_cast<const std::complex<T>*>(t.data_ptr()) + at;
  for (int64_t i = 0; i < count; ++i) body(i, C(from[i]));
}
// Calls body(i, number) for `count` numbers from number `at` on.
template <class Body>
void read(const Tensor& t, int64_t at, int64_t count, Body body) {
  if (t.dtype() == kComplexFloat)
    read_as<float>(t, at, count, body);
  else
    read_as<double>(t, at, count, body);
}
// Writes value(i).
template <class T, class Value>
void write(const Tensor& t, int64_t at, int64_t count, Value value) {
  T* to = static_cast<T*>(t.data_ptr()) + at;
  for (int64_t i = 0; i < count; ++i) to[i] = static_cast<T>(value(i));
}

// LAPACK's measure of complex pivots.
double size_of(C z) { return std::abs(z.real()) + std::abs(z.imag()); }

// Eliminates one column; false if it has no pivot.
bool factor_column(Eigen::Ref<ComplexMatrix> a, int32_t& pivot) {
  Eigen::Index row = 0;
  for (Eigen::Index i = 1; i < a.rows(); ++i)
    if (size_of(a(i, 0)) > size_of(a(row, 0))) row = i;
  pivot = static_cast<int32_t>(row);
  if (a(row, 0) == C(0)) return false;
  std::swap(a(0, 0), a(row, 0));
  const C diagonal = a(0, 0);
  for (Eigen::Index i = 1; i < a.rows(); ++i) a(i, 0) /= diagonal;
  return true;
}

// Decomposes the left half of the columns, then the rest of the right half (Toledo, "Locality of reference in LU
// decomposition with partial pivoting", 1997). Pivots count from the first row of a. Returns 1 + the position of the
// first pivot that is 0, or 0.
Eigen::Index factor(Eigen::Ref<ComplexMatrix> a, int32_t* pivots) {
  const Eigen::Index m = a.rows(), n = a.cols(), k = std::min(m, n);
  if (n == 1) return factor_column(a, *pivots) ? 0 : 1;
  const Eigen::Index left = std::max<Eigen::Index>(1, k / 2), right = n - left;
  Eigen::Index zero = factor(a.leftCols(left), pivots);
  auto beside = a.rightCols(right);
  for (Eigen::Index i = 0; i < left; ++i)
    if (pivots[i] != i) beside.row(i).swap(beside.row(pivots[i]));
  ComplexMatrix top = beside.topRows(left);
  a.topLeftCorner(left, left).triangularView<Eigen::UnitLower>().solveInPlace(top);
  beside.topRows(left) = top;
  if (m == left) return zero;
  beside.bottomRows(m - left).noalias() -= a.bottomLeftCorner(m - left, left) * top;
  const Eigen::Index later = factor(beside.bottomRows(m - left), pivots + left);
  if (zero == 0 && later != 0) zero = left + later;
  for (Eigen::Index i = left; i < k; ++i) {
    pivots[i] += static_cast<int32_t>(left);
    if (pivots[i] != i) a.row(i).head(left).swap(a.row(pivots[i]).head(left));
  }
  return zero;
}

}  // namespace

ComplexMatrix load_matrix(const Tensor& t, int64_t i) {
  const int64_t m = t.size(-2), n = t.size(-1);
  ComplexMatrix out(m, n);
  read(t, i * m * n, m * n, [&](int64_t k, C z) { out(k / n, k % n) = z; });
  return out;
}
ComplexVector load_vector(const Tensor& t, int64_t i) {
  const int64_t n = t.size(-1);
  ComplexVector out(n);
  read(t, i * n, n, [&](int64_t k, C z) { out(k) = z; });
  return out;
}
void store_matrix(const Tensor& t, int64_t i, const ComplexMatrix& matrix) {
  const int64_t m = t.size(-2), n = t.size(-1);
  const auto value = [&](int64_t k) { return matrix(k / n, k % n); };
  if (t.dtype() == kComplexFloat)
    write<std::complex<float>>(t, i * m * n, m * n, value);
  else
    write<C>(t, i * m * n, m * n, value);
}
void store_vector(const Tensor& t, int64_t i, const ComplexVector& vector) {
  const int64_t n = t.size(-1);
  const auto value = [&](int64_t k) { return vector(k); };
  if (t.dtype() == kComplexFloat)
    write<std::complex<float>>(t, i * n, n, value);
  else
    write<C>(t, i * n, n, value);
}
void store_reals(const Tensor& t, int64_t i, const Vector<double>& vector) {
  const int64_t n = t.size(-1);
  const auto value = [&](int64_t k) { return vector(k); };
  if (t.dtype() == kFloat)
    write<float>(t, i * n, n, value);
  else
    write<double>(t, i * n, n, value);
}

void complex_lu_factor(const Tensor& lu, const Tensor& pivots, const Tensor& info, const Tensor& a) {
  for_complex_matrices(a, [&](int64_t i) {
    ComplexMatrix work = load_matrix(a, i);
    auto exchanged = vector_at<int32_t>(pivots, i);
    info.ptr<int32_t>()[i] = static_cast<int32_t>(factor(work, exchanged.data()));
    exchanged.array() += 1;
    store_matrix(lu, i, work);
  });
}

void complex_cholesky(const Tensor& l, const Tensor& info, const Tensor& a) {
  for_complex_matrices(a, [&](int64_t i) {
    ComplexMatrix work = load_matrix(a, i).triangularView<Eigen::Lower>();
    Eigen::Index failed = Eigen::internal::llt_inplace<C, Eigen::Lower>::blocked(work) + 1;
    for (Eigen::Index k = 0; failed == 0 && k < work.rows(); ++k)
      if (!(work(k, k).real() > 0)) failed = k + 1;  // NaN passes Eigen's own test
    info.ptr<int32_t>()[i] = static_cast<int32_t>(failed);
    store_matrix(l, i, work);
  });
}

// Eigen stores the conjugates of LAPACK's factors.
void complex_geqrf(const Tensor& qr, const Tensor& tau, const Tensor& a) {
  for_complex_matrices(a, [&](int64_t i) {
    const Eigen::HouseholderQR<ComplexMatrix> reflectors(load_matrix(a, i));
    store_matrix(qr, i, reflectors.matrixQR());
    store_vector(tau, i, reflectors.hCoeffs().conjugate());
  });
}

void apply_reflectors(const ComplexMatrix& vectors, const ComplexVector& factors, ComplexMatrix& x) {
  x.applyOnTheLeft(Eigen::householderSequence(vectors, factors).setLength(factors.size()));
}

void complex_householder_product(const Tensor& q, const Tensor& a, const Tensor& tau) {
  for_complex_matrices(q, [&](int64_t i) {
    ComplexMatrix work = ComplexMatrix::Identity(q.size(-2), q.size(-1));
    apply_reflectors(load_matrix(a, i), load_vector(tau, i), work);
    store_matrix(q, i, work);
  });
}

void complex_solve_triangular(const Tensor& x, const Tensor& a, const Tensor& b, bool upper, bool unit) {
  for_complex_matrices(b, [&](int64_t i) {
    ComplexMatrix factor = load_matrix(a, i), work = load_matrix(b, i);
    if (unit) factor.diagonal().setOnes();
    if (upper)
      factor.triangularView<Eigen::Upper>().solveInPlace(work);
    else
      factor.triangularView<Eigen::Lower>().solveInPlace(work);
    store_matrix(x, i, work);
  });
}

}  // namespace tandem::cpu
