// Namespace special: special::NAME is the function special_NAME.
#pragma once
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/autograd/ops/torch_names/special_names.h"

namespace tandem::special {

inline Tensor i0e(const Tensor& self) { return special_i0e(self); }
inline Tensor i1(const Tensor& self) { return special_i1(self); }
inline Tensor i1e(const Tensor& self) { return special_i1e(self); }
inline Tensor bessel_j0(const Tensor& self) { return special_bessel_j0(self); }
inline Tensor bessel_j1(const Tensor& self) { return special_bessel_j1(self); }
inline Tensor bessel_y0(const Tensor& self) { return special_bessel_y0(self); }
inline Tensor bessel_y1(const Tensor& self) { return special_bessel_y1(self); }
inline Tensor modified_bessel_k0(const Tensor& self) { return special_modified_bessel_k0(self); }
inline Tensor modified_bessel_k1(const Tensor& self) { return special_modified_bessel_k1(self); }
inline Tensor scaled_modified_bessel_k0(const Tensor& x) { return special_scaled_modified_bessel_k0(x); }
inline Tensor scaled_modified_bessel_k1(const Tensor& x) { return special_scaled_modified_bessel_k1(x); }
inline Tensor airy_ai(const Tensor& x) { return special_airy_ai(x); }
inline Tensor entr(const Tensor& self) { return special_entr(self); }
inline Tensor erfcx(const Tensor& self) { return special_erfcx(self); }
inline Tensor ndtr(const Tensor& self) { return special_ndtr(self); }
inline Tensor log_ndtr(const Tensor& self) { return special_log_ndtr(self); }
inline Tensor ndtri(const Tensor& self) { return special_ndtri(self); }
inline Tensor spherical_bessel_j0(const Tensor& x) { return special_spherical_bessel_j0(x); }
inline Tensor zeta(const Tensor& self, const Tensor& other) { return special_zeta(self, other); }
inline Tensor zeta(const Scalar& self, const Tensor& other) { return special_zeta(self, other); }
inline Tensor zeta(const Tensor& self, const Scalar& other) { return special_zeta(self, other); }
inline Tensor xlog1py(const Tensor& self, const Tensor& other) { return special_xlog1py(self, other); }
inline Tensor xlog1py(const Scalar& self, const Tensor& other) { return special_xlog1py(self, other); }
inline Tensor xlog1py(const Tensor& self, const Scalar& other) { return special_xlog1py(self, other); }
inline Tensor chebyshev_polynomial_t(const Tensor& x, const Tensor& n) { return special_chebyshev_polynomial_t(x, n); }
inline Tensor chebyshev_polynomial_u(const Tensor& x, const Tensor& n) { return special_chebyshev_polynomial_u(x, n); }
inline Tensor chebyshev_polynomial_v(const Tensor& x, const Tensor& n) { return special_chebyshev_polynomial_v(x, n); }
inline Tensor chebyshev_polynomial_w(const Tensor& x, const Tensor& n) { return special_chebyshev_polynomial_w(x, n); }
inline Tensor shifted_chebyshev_polynomial_t(const Tensor& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_t(x, n);
}
inline Tensor shifted_chebyshev_polynomial_u(const Tensor& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_u(x, n);
}
inline Tensor shifted_chebyshev_polynomial_v(const Tensor& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_v(x, n);
}
inline Tensor shifted_chebyshev_polynomial_w(const Tensor& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_w(x, n);
}
inline Tensor hermite_polynomial_h(const Tensor& x, const Tensor& n) { return special_hermite_polynomial_h(x, n); }
inline Tensor hermite_polynomial_he(const Tensor& x, const Tensor& n) { return special_hermite_polynomial_he(x, n); }
inline Tensor laguerre_polynomial_l(const Tensor& x, const Tensor& n) { return special_laguerre_polynomial_l(x, n); }
inline Tensor legendre_polynomial_p(const Tensor& x, const Tensor& n) { return special_legendre_polynomial_p(x, n); }
inline Tensor gammaln(const Tensor& self) { return special_gammaln(self); }
inline Tensor digamma(const Tensor& self) { return special_digamma(self); }
inline Tensor psi(const Tensor& self) { return special_psi(self); }
inline Tensor erf(const Tensor& self) { return special_erf(self); }
inline Tensor erfc(const Tensor& self) { return special_erfc(self); }
inline Tensor erfinv(const Tensor& self) { return special_erfinv(self); }
inline Tensor exp2(const Tensor& self) { return special_exp2(self); }
inline Tensor expit(const Tensor& self) { return special_expit(self); }
inline Tensor expm1(const Tensor& self) { return special_expm1(self); }
inline Tensor i0(const Tensor& self) { return special_i0(self); }
inline Tensor log1p(const Tensor& self) { return special_log1p(self); }
inline Tensor sinc(const Tensor& self) { return special_sinc(self); }
inline Tensor modified_bessel_i0(const Tensor& self) { return special_modified_bessel_i0(self); }
inline Tensor modified_bessel_i1(const Tensor& self) { return special_modified_bessel_i1(self); }
inline Tensor polygamma(int64_t n, const Tensor& self) { return special_polygamma(n, self); }
inline Tensor multigammaln(const Tensor& self, int64_t p) { return special_multigammaln(self, p); }
inline Tensor logit(const Tensor& self, optional<double> eps = nullopt) { return special_logit(self, eps); }
inline Tensor round(const Tensor& self, int64_t decimals = 0) { return special_round(self, decimals); }
inline Tensor gammainc(const Tensor& self, const Tensor& other) { return special_gammainc(self, other); }
inline Tensor gammaincc(const Tensor& self, const Tensor& other) { return special_gammaincc(self, other); }
inline Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false) {
  return special_logsumexp(self, dim, keepdim);
}
inline Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return special_softmax(self, dim, dtype);
}
inline Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt) {
  return special_log_softmax(self, dim, dtype);
}
inline Tensor xlogy(const Tensor& self, const Tensor& other) { return special_xlogy(self, other); }
inline Tensor xlogy(const Scalar& self, const Tensor& other) { return special_xlogy(self, other); }
inline Tensor xlogy(const Tensor& self, const Scalar& other) { return special_xlogy(self, other); }
inline Tensor chebyshev_polynomial_t(const Scalar& x, const Tensor& n) { return special_chebyshev_polynomial_t(x, n); }
inline Tensor chebyshev_polynomial_t(const Tensor& x, const Scalar& n) { return special_chebyshev_polynomial_t(x, n); }
inline Tensor chebyshev_polynomial_u(const Scalar& x, const Tensor& n) { return special_chebyshev_polynomial_u(x, n); }
inline Tensor chebyshev_polynomial_u(const Tensor& x, const Scalar& n) { return special_chebyshev_polynomial_u(x, n); }
inline Tensor chebyshev_polynomial_v(const Scalar& x, const Tensor& n) { return special_chebyshev_polynomial_v(x, n); }
inline Tensor chebyshev_polynomial_v(const Tensor& x, const Scalar& n) { return special_chebyshev_polynomial_v(x, n); }
inline Tensor chebyshev_polynomial_w(const Scalar& x, const Tensor& n) { return special_chebyshev_polynomial_w(x, n); }
inline Tensor chebyshev_polynomial_w(const Tensor& x, const Scalar& n) { return special_chebyshev_polynomial_w(x, n); }
inline Tensor shifted_chebyshev_polynomial_t(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_t(x, n);
}
inline Tensor shifted_chebyshev_polynomial_t(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_t(x, n);
}
inline Tensor shifted_chebyshev_polynomial_u(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_u(x, n);
}
inline Tensor shifted_chebyshev_polynomial_u(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_u(x, n);
}
inline Tensor shifted_chebyshev_polynomial_v(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_v(x, n);
}
inline Tensor shifted_chebyshev_polynomial_v(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_v(x, n);
}
inline Tensor shifted_chebyshev_polynomial_w(const Scalar& x, const Tensor& n) {
  return special_shifted_chebyshev_polynomial_w(x, n);
}
inline Tensor shifted_chebyshev_polynomial_w(const Tensor& x, const Scalar& n) {
  return special_shifted_chebyshev_polynomial_w(x, n);
}
inline Tensor hermite_polynomial_h(const Scalar& x, const Tensor& n) { return special_hermite_polynomial_h(x, n); }
inline Tensor hermite_polynomial_h(const Tensor& x, const Scalar& n) { return special_hermite_polynomial_h(x, n); }
inline Tensor hermite_polynomial_he(const Scalar& x, const Tensor& n) { return special_hermite_polynomial_he(x, n); }
inline Tensor hermite_polynomial_he(const Tensor& x, const Scalar& n) { return special_hermite_polynomial_he(x, n); }
inline Tensor laguerre_polynomial_l(const Scalar& x, const Tensor& n) { return special_laguerre_polynomial_l(x, n); }
inline Tensor laguerre_polynomial_l(const Tensor& x, const Scalar& n) { return special_laguerre_polynomial_l(x, n); }
inline Tensor legendre_polynomial_p(const Scalar& x, const Tensor& n) { return special_legendre_polynomial_p(x, n); }
inline Tensor legendre_polynomial_p(const Tensor& x, const Scalar& n) { return special_legendre_polynomial_p(x, n); }

}  // namespace tandem::special
