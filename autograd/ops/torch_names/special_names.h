// torch.special's other names of functions.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"

namespace tandem {

namespace detail {
/// x as a 0-dim tensor of the floating point dtype of `like`.
inline Tensor scalar_to_tensor(const Scalar& x, const Tensor& like) {
  const ScalarType type = is_floating_point(like.dtype()) ? like.dtype() : get_default_dtype();
  return full({}, x, TensorOptions(type).device(like.device()));
}
}  // namespace detail

inline Tensor special_gammaln(const Tensor& self) { return lgamma(self); }
inline Tensor special_digamma(const Tensor& self) { return digamma(self); }
inline Tensor special_psi(const Tensor& self) { return digamma(self); }
inline Tensor special_erf(const Tensor& self) { return erf(self); }
inline Tensor special_erfc(const Tensor& self) { return erfc(self); }
inline Tensor special_erfinv(const Tensor& self) { return erfinv(self); }
inline Tensor special_exp2(const Tensor& self) { return exp2(self); }
inline Tensor special_expit(const Tensor& self) { return sigmoid(self); }
inline Tensor special_expm1(const Tensor& self) { return expm1(self); }
inline Tensor special_i0(const Tensor& self) { return i0(self); }
inline Tensor special_log1p(const Tensor& self) { return log1p(self); }
inline Tensor special_sinc(const Tensor& self) { return sinc(self); }
inline Tensor special_modified_bessel_i0(const Tensor& self) { return i0(self); }
inline Tensor special_modified_bessel_i1(const Tensor& self) { return special_i1(self); }
inline Tensor special_polygamma(int64_t n, const Tensor& self) { return polygamma(n, self); }
inline Tensor special_multigammaln(const Tensor& self, int64_t p) { return mvlgamma(self, p); }
inline Tensor special_logit(const Tensor& self, optional<double> eps = nullopt) { return logit(self, eps); }
inline Tensor special_round(const Tensor& self, int64_t decimals = 0) { return round(self, decimals); }
inline Tensor special_gammainc(const Tensor& self, const Tensor& other) { return igamma(self, other); }
inline Tensor special_gammaincc(const Tensor& self, const Tensor& other) { return igammac(self, other); }
inline Tensor special_logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return logsumexp(self, dim, keepdim);
}
inline Tensor special_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return softmax(self, dim, dtype);
}
inline Tensor special_log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return log_softmax(self, dim, dtype);
}
inline Tensor special_xlogy(const Tensor& self, const Tensor& other) { return xlogy(self, other); }
inline Tensor special_xlogy(const Scalar& self, const Tensor& other) { return xlogy(self, other); }
inline Tensor special_xlogy(const Tensor& self, const Scalar& other) { return xlogy(self, other); }
inline Tensor special_chebyshev_polynomial_t(const Scalar& x, const Tensor& n) {
  return special_chebyshev_polynomial_t(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_chebyshev_polynomial_t(const Tensor& x, const Scalar& n) {
  return special_chebyshev_polynomial_t(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_chebyshev_polynomial_u(const Scalar& x, const Tensor& n) {
  return special_chebyshev_polynomial_u(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_chebyshev_polynomial_u(const Tensor& x, const Scalar& n) {
  return special_chebyshev_polynomial_u(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_chebyshev_polynomial_v(const Scalar& x, const Tensor& n) {
  return special_chebyshev_polynomial_v(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_chebyshev_polynomial_v(const Tensor& x, const Scalar& n) {
  return special_chebyshev_polynomial_v(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_chebyshev_polynomial_w(const Scalar& x, const Tensor& n) {
  return special_chebyshev_polynomial_w(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_chebyshev_polynomial_w(const Tensor& x, const Scalar& n) {
  return special_chebyshev_polynomial_w(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_shifted_chebyshev_polynomial_t(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_t(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_shifted_chebyshev_polynomial_t(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_t(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_shifted_chebyshev_polynomial_u(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_u(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_shifted_chebyshev_polynomial_u(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_u(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_shifted_chebyshev_polynomial_v(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_v(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_shifted_chebyshev_polynomial_v(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_v(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_shifted_chebyshev_polynomial_w(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_w(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_shifted_chebyshev_polynomial_w(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_w(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_hermite_polynomial_h(const Scalar& x, const Tensor& n) {
  return special_hermite_polynomial_h(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_hermite_polynomial_h(const Tensor& x, const Scalar& n) {
  return special_hermite_polynomial_h(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_hermite_polynomial_he(const Scalar& x, const Tensor& n) {
  return special_hermite_polynomial_he(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_hermite_polynomial_he(const Tensor& x, const Scalar& n) {
  return special_hermite_polynomial_he(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_laguerre_polynomial_l(const Scalar& x, const Tensor& n) {
  return special_laguerre_polynomial_l(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_laguerre_polynomial_l(const Tensor& x, const Scalar& n) {
  return special_laguerre_polynomial_l(x, detail::scalar_to_tensor(n, x));
}
inline Tensor special_legendre_polynomial_p(const Scalar& x, const Tensor& n) {
  return special_legendre_polynomial_p(detail::scalar_to_tensor(x, n), n);
}
inline Tensor special_legendre_polynomial_p(const Tensor& x, const Scalar& n) {
  return special_legendre_polynomial_p(x, detail::scalar_to_tensor(n, x));
}

}  // namespace tandem
