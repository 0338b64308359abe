// The members of Tensor that call functions of linear algebra and special functions.
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/special.h"

namespace tandem {
using namespace autograd;

Tensor Tensor::det() const { return linalg_det(*this); }
Tensor Tensor::logdet() const { return tandem::logdet(*this); }
std::tuple<Tensor, Tensor> Tensor::slogdet() const { return linalg_slogdet(*this); }
Tensor Tensor::inverse() const { return linalg_inv(*this); }
Tensor Tensor::pinverse(double rcond) const { return linalg_pinv(*this, rcond); }
Tensor Tensor::matrix_exp() const { return linalg_matrix_exp(*this); }
Tensor Tensor::cholesky(bool upper) const { return linalg_cholesky(*this, upper); }
Tensor Tensor::cholesky_inverse(bool upper) const { return tandem::cholesky_inverse(*this, upper); }
Tensor Tensor::cholesky_solve(const Tensor& input2, bool upper) const {
  return tandem::cholesky_solve(*this, input2, upper);
}
Tensor Tensor::lu_solve(const Tensor& LU_data, const Tensor& LU_pivots) const {
  return tandem::lu_solve(*this, LU_data, LU_pivots);
}
std::tuple<Tensor, Tensor> Tensor::triangular_solve(const Tensor& A, bool upper, bool transpose,
                                                    bool unitriangular) const {
  return tandem::triangular_solve(*this, A, upper, transpose, unitriangular);
}
std::tuple<Tensor, Tensor, Tensor> Tensor::svd(bool some, bool compute_uv) const {
  return tandem::svd(*this, some, compute_uv);
}
std::tuple<Tensor, Tensor> Tensor::qr(bool some) const { return linalg_qr(*this, some ? "reduced" : "complete"); }
std::tuple<Tensor, Tensor> Tensor::geqrf() const { return tandem::geqrf(*this); }
Tensor Tensor::orgqr(const Tensor& input2) const { return linalg_householder_product(*this, input2); }
Tensor Tensor::ormqr(const Tensor& input2, const Tensor& input3, bool left, bool transpose) const {
  return tandem::ormqr(*this, input2, input3, left, transpose);
}

Tensor Tensor::lgamma() const { return tandem::lgamma(*this); }
Tensor& Tensor::lgamma_() const { return inplace_of(*this, "lgamma_", tandem::lgamma); }
Tensor Tensor::digamma() const { return tandem::digamma(*this); }
Tensor& Tensor::digamma_() const { return inplace_of(*this, "digamma_", tandem::digamma); }
Tensor Tensor::polygamma(int64_t n) const { return tandem::polygamma(n, *this); }
Tensor& Tensor::polygamma_(int64_t n) const {
  return inplace_of(*this, "polygamma_", [&](const Tensor& x) { return tandem::polygamma(n, x); });
}
TANDEM_MEMBERS(mvlgamma, (int64_t p), (p))
Tensor Tensor::erfinv() const { return tandem::erfinv(*this); }
Tensor& Tensor::erfinv_() const { return inplace_of(*this, "erfinv_", tandem::erfinv); }
Tensor Tensor::i0() const { return tandem::i0(*this); }
Tensor& Tensor::i0_() const { return inplace_of(*this, "i0_", tandem::i0); }
TANDEM_MEMBERS_OF(igamma, (const Tensor& other), (other), other)
TANDEM_MEMBERS_OF(igammac, (const Tensor& other), (other), other)

}  // namespace tandem
