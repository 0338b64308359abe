// Special functions: the functions behind torch.special that are not elementary. Elementwise; the output has the
// broadcast shape. Integer and bool tensors are converted to the default dtype. Computed in double precision and
// rounded, within a few units in the last place away from zeros of the function.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// log |Γ(x)|
Tensor lgamma(const Tensor& self);
/// Γ'(x) / Γ(x)
Tensor digamma(const Tensor& self);
/// The n-th derivative of digamma, n >= 0.
Tensor polygamma(int64_t n, const Tensor& self);
/// log of the multivariate gamma function of order p >= 1: p (p - 1) / 4 log π + Σ lgamma(x - j / 2), j < p.
Tensor mvlgamma(const Tensor& self, int64_t p);
/// y with erf(y) = x; ±∞ at ±1, NaN beyond.
Tensor erfinv(const Tensor& self);
/// Modified Bessel functions of the first kind, of order 0 and 1; with e, times e^-|x|.
Tensor i0(const Tensor& self);
Tensor special_i0e(const Tensor& self);
Tensor special_i1(const Tensor& self);
Tensor special_i1e(const Tensor& self);
/// Bessel functions of the first and second kind, of order 0 and 1. Y is NaN below 0 and -∞ at 0.
Tensor special_bessel_j0(const Tensor& self);
Tensor special_bessel_j1(const Tensor& self);
Tensor special_bessel_y0(const Tensor& self);
Tensor special_bessel_y1(const Tensor& self);
/// Modified Bessel functions of the second kind, of order 0 and 1; NaN below 0, ∞ at 0. Scaled: times e^x, and without
/// a gradient.
Tensor special_modified_bessel_k0(const Tensor& self);
Tensor special_modified_bessel_k1(const Tensor& self);
Tensor special_scaled_modified_bessel_k0(const Tensor& x);
Tensor special_scaled_modified_bessel_k1(const Tensor& x);
/// Airy's function Ai; NaN at ±∞. Without a gradient.
Tensor special_airy_ai(const Tensor& x);
/// -x log x; 0 at 0, -∞ below.
Tensor special_entr(const Tensor& self);
/// e^(x²) erfc(x)
Tensor special_erfcx(const Tensor& self);
/// The distribution function Φ of the normal distribution, its logarithm and its inverse.
Tensor special_ndtr(const Tensor& self);
Tensor special_log_ndtr(const Tensor& self);
Tensor special_ndtri(const Tensor& self);
/// sin(x) / x; 1 at 0, 0 at ±∞.
Tensor special_spherical_bessel_j0(const Tensor& x);

/// The Hurwitz zeta function Σ (k + other)^-self, k >= 0. Only `other` has a gradient.
Tensor special_zeta(const Tensor& self, const Tensor& other);
Tensor special_zeta(const Scalar& self, const Tensor& other);
Tensor special_zeta(const Tensor& self, const Scalar& other);
/// The regularised lower and upper incomplete gamma functions P(self, other) and Q(self, other). Only `other` has a
/// gradient.
Tensor igamma(const Tensor& self, const Tensor& other);
Tensor igammac(const Tensor& self, const Tensor& other);
/// self log(1 + other); 0 where self is 0, unless other is NaN.
Tensor special_xlog1py(const Tensor& self, const Tensor& other);
Tensor special_xlog1py(const Scalar& self, const Tensor& other);
Tensor special_xlog1py(const Tensor& self, const Scalar& other);

// ---- polynomials of x, member n (rounded towards 0; the polynomial of a negative n is 0). No gradients.
Tensor special_chebyshev_polynomial_t(const Tensor& x, const Tensor& n);
Tensor special_chebyshev_polynomial_u(const Tensor& x, const Tensor& n);
Tensor special_chebyshev_polynomial_v(const Tensor& x, const Tensor& n);
Tensor special_chebyshev_polynomial_w(const Tensor& x, const Tensor& n);
Tensor special_shifted_chebyshev_polynomial_t(const Tensor& x, const Tensor& n);
Tensor special_shifted_chebyshev_polynomial_u(const Tensor& x, const Tensor& n);
Tensor special_shifted_chebyshev_polynomial_v(const Tensor& x, const Tensor& n);
Tensor special_shifted_chebyshev_polynomial_w(const Tensor& x, const Tensor& n);
Tensor special_hermite_polynomial_h(const Tensor& x, const Tensor& n);
Tensor special_hermite_polynomial_he(const Tensor& x, const Tensor& n);
Tensor special_laguerre_polynomial_l(const Tensor& x, const Tensor& n);
Tensor special_legendre_polynomial_p(const Tensor& x, const Tensor& n);

}  // namespace tandem
