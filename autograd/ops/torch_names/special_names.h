// torch.special's other names of functions.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/torch_names/named.h"

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

/// The polynomials of special.h with a number for x or n; special:: has the same three.
#define TANDEM_POLYNOMIAL(name)                                         \
  inline Tensor special_##name(const Scalar& x, const Tensor& n) {      \
    return special_##name(detail::scalar_to_tensor(x, n), n);           \
  }                                                                     \
  inline Tensor special_##name(const Tensor& x, const Scalar& n) {      \
    return special_##name(x, detail::scalar_to_tensor(n, x));           \
  }                                                                     \
  namespace special {                                                   \
  TANDEM_NAMED(special, name, (const Tensor& x, const Tensor& n), x, n) \
  TANDEM_NAMED(special, name, (const Scalar& x, const Tensor& n), x, n) \
  TANDEM_NAMED(special, name, (const Tensor& x, const Scalar& n), x, n) \
  }
TANDEM_POLYNOMIAL(chebyshev_polynomial_t)
TANDEM_POLYNOMIAL(chebyshev_polynomial_u)
TANDEM_POLYNOMIAL(chebyshev_polynomial_v)
TANDEM_POLYNOMIAL(chebyshev_polynomial_w)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_t)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_u)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_v)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_w)
TANDEM_POLYNOMIAL(hermite_polynomial_h)
TANDEM_POLYNOMIAL(hermite_polynomial_he)
TANDEM_POLYNOMIAL(laguerre_polynomial_l)
TANDEM_POLYNOMIAL(legendre_polynomial_p)
#undef TANDEM_POLYNOMIAL

}  // namespace tandem
