// Special functions and their derivatives. The formulas of the values are in core/formulas/special_math.h and
// bessel_math.h.
#include "tandem/autograd/ops/pointwise/special.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/special.h"
#include "tandem/core/formulas/bessel_ops.h"
#include "tandem/core/formulas/special_ops.h"

namespace tandem {
namespace {
using namespace autograd;
using std::numbers::pi;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The derivative at x, where the function is y.
using Derivative = Tensor (*)(const Tensor& x, const Tensor& y);

struct SpecialBackward final : NamedNode<SpecialBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = g[0] * derivative(self.unpack(*this), result.unpack(*this));
  }
  TANDEM_SAVED(self, result);
  Derivative derivative = nullptr;
};

/// Op without a gradient, as PyTorch has it.
template <class Op>
Tensor constant_special(const Tensor& self) {
  const Tensor x = as_float(self);
  Tensor out = empty_elementwise(x, x.dtype());
  backend(x).special.unary.get<Op>()(out, x, nullptr);
  return out;
}

template <class Op>
Tensor special(const Tensor& self, Derivative derivative) {
  const Tensor x = as_float(self);
  Tensor out = constant_special<Op>(x);
  if (auto* node = record<SpecialBackward>(out, x)) {
    node->self.save(x);
    node->result.save_output(out);
    node->derivative = derivative;
  }
  return out;
}

/// x as a tensor of the floating point dtype of `like`, for operations of a number and a tensor.
Tensor number_like(const Scalar& x, const Tensor& like) {
  return full({}, x, TensorOptions(float_type(like.dtype())).device(like.device()));
}

/// Op without gradients.
template <class Op>
Tensor pair(const Tensor& a, const Tensor& b) {
  const ScalarType type = float_type(result_type(a, b));
  check_same_device(Op::name, a, b);
  const Device device = device_of(a, b);
  const Prepared x(a, type, device), y(b, type, device);
  Tensor out = empty_elementwise(broadcast_sizes(a.sizes(), b.sizes(), Op::name), type, device, a, b);
  backend(out).special.binary.get<Op>()(out, x, y, 0);
  return out;
}

/// The derivative of a function of two tensors with respect to the second.
using SecondDerivative = Tensor (*)(const Tensor& a, const Tensor& b);

struct SpecialPairBackward final : NamedNode<SpecialPairBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    check(!needs(0), operation, ": the derivative with respect to the first argument is not implemented");
    const Tensor y = b.unpack(*this);
    out[1] = sum_to_size(g[0] * derivative(a.unpack(*this), y), y.sizes());
  }
  TANDEM_SAVED(a, b);
  SecondDerivative derivative = nullptr;
  const char* operation = "";
};

template <class Op>
Tensor special_pair(const Tensor& a, const Tensor& b, SecondDerivative derivative) {
  Tensor out = pair<Op>(a, b);
  if (auto* node = record<SpecialPairBackward>(out, a, b)) {
    node->a.save(a);
    node->b.save(b);
    node->derivative = derivative;
    node->operation = Op::name;
  }
  return out;
}

// x^(a - 1) e^-x / Γ(a)
Tensor gamma_slope(const Tensor& a, const Tensor& x) { return exp(-x + (a - 1) * x.log() - tandem::lgamma(a)); }

template <class Op>
Tensor polynomial(const Tensor& x, const Tensor& n) {
  check(!recording(x, n), "special_", Op::name, ": has no gradient; detach the arguments");
  return pair<Op>(x, n);
}

}  // namespace

Tensor lgamma(const Tensor& self) {
  return special<ops::Lgamma>(self, [](const Tensor& x, const Tensor&) { return digamma(x); });
}
Tensor digamma(const Tensor& self) {
  return special<ops::Digamma>(self, [](const Tensor& x, const Tensor&) { return polygamma(1, x); });
}
// (-1)^(n + 1) n! ζ(n + 1, x), A&S 6.4.10.
Tensor polygamma(int64_t n, const Tensor& self) {
  check(n >= 0, "polygamma: n must not be negative, got ", n);
  if (n == 0) return digamma(self);
  const double order = static_cast<double>(n), factorial = std::tgamma(order + 1);
  return special_zeta(Scalar(order + 1), as_float(self)) * (n % 2 == 1 ? factorial : -factorial);
}
Tensor mvlgamma(const Tensor& self, int64_t p) {
  check(p >= 1, "mvlgamma: p must be at least 1, got ", p);
  const Tensor x = as_float(self), steps = arange(0, p, TensorOptions(x.dtype()).device(x.device())) * -0.5;
  const double order = static_cast<double>(p);
  return tandem::lgamma(x.unsqueeze(-1) + steps).sum({-1}) + order * (order - 1) / 4 * std::log(pi);
}
Tensor erfinv(const Tensor& self) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return erfinv(to(self));
  return special<ops::Erfinv>(self, [](const Tensor&, const Tensor& y) { return exp(y * y) * (std::sqrt(pi) / 2); });
}
Tensor i0(const Tensor& self) {
  return special<ops::BesselI0>(self, [](const Tensor& x, const Tensor&) { return special_i1(x); });
}
Tensor special_i0e(const Tensor& self) {
  return special<ops::BesselI0e>(self, [](const Tensor& x, const Tensor& y) { return special_i1e(x) - x.sign() * y; });
}
// I₁' = I₀ - I₁ / x, which is 1/2 at 0.
Tensor special_i1(const Tensor& self) {
  return special<ops::BesselI1>(self, [](const Tensor& x, const Tensor& y) {
    const Tensor zero = x == 0;
    return where(zero, Scalar(0.5), i0(x) - y / where(zero, Scalar(1.0), x));
  });
}
Tensor special_i1e(const Tensor& self) {
  return special<ops::BesselI1e>(self, [](const Tensor& x, const Tensor& y) {
    const Tensor zero = x == 0;
    return where(zero, Scalar(0.5), special_i0e(x) - y * (x.sign() + where(zero, Scalar(1.0), x).reciprocal()));
  });
}
Tensor special_bessel_j0(const Tensor& self) {
  return special<ops::BesselJ0>(self, [](const Tensor& x, const Tensor&) { return -special_bessel_j1(x); });
}
// J₁' = J₀ - J₁ / x, which is 1/2 at 0.
Tensor special_bessel_j1(const Tensor& self) {
  return special<ops::BesselJ1>(self, [](const Tensor& x, const Tensor& y) {
    const Tensor zero = x == 0;
    return where(zero, Scalar(0.5), special_bessel_j0(x) - y / where(zero, Scalar(1.0), x));
  });
}
Tensor special_bessel_y0(const Tensor& self) {
  return special<ops::BesselY0>(self, [](const Tensor& x, const Tensor&) { return -special_bessel_y1(x); });
}
Tensor special_bessel_y1(const Tensor& self) {
  return special<ops::BesselY1>(self, [](const Tensor& x, const Tensor& y) { return special_bessel_y0(x) - y / x; });
}
Tensor special_modified_bessel_k0(const Tensor& self) {
  return special<ops::BesselK0>(self, [](const Tensor& x, const Tensor&) { return -special_modified_bessel_k1(x); });
}
Tensor special_modified_bessel_k1(const Tensor& self) {
  return special<ops::BesselK1>(
      self, [](const Tensor& x, const Tensor& y) { return -special_modified_bessel_k0(x) - y / x; });
}
Tensor special_scaled_modified_bessel_k0(const Tensor& x) { return constant_special<ops::ScaledBesselK0>(x); }
Tensor special_scaled_modified_bessel_k1(const Tensor& x) { return constant_special<ops::ScaledBesselK1>(x); }
Tensor special_airy_ai(const Tensor& x) { return constant_special<ops::AiryAi>(x); }
Tensor special_entr(const Tensor& self) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return special_entr(self);
  const Tensor x = as_float(self), positive = x > 0, safe = where(positive, x, Scalar(1.0));
  const Tensor inside = where(positive, -x * safe.log(), Scalar(0.0));
  return where(x < 0, Scalar(-kInfinity), where(x.isnan(), x, inside));
}
Tensor special_erfcx(const Tensor& self) {
  return special<ops::Erfcx>(self, [](const Tensor& x, const Tensor& y) { return 2 * x * y - 2 / std::sqrt(pi); });
}
Tensor special_ndtr(const Tensor& self) { return erfc(as_float(self) * -std::numbers::sqrt2 / 2) * 0.5; }
// Below -1, log(erfcx(-x / √2) / 2) - x² / 2. Each formula gets only the arguments on its side.
Tensor special_log_ndtr(const Tensor& self) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return special_log_ndtr(self);
  const Tensor z = as_float(self) * (std::numbers::sqrt2 / 2), low = z.detach() < -std::numbers::sqrt2 / 2;
  const Tensor below = where(low, z, Scalar(-1.0)), above = where(low, Scalar(0.0), z);
  // One after the other: compilers differ in the order of operands, and gradients are added in the order of the calls.
  const Tensor scaled = (special_erfcx(-below) * 0.5).log(), square = below * below;
  return where(low, scaled - square, log1p(erfc(above) * -0.5));
}
Tensor special_ndtri(const Tensor& self) {
  return special<ops::Ndtri>(self, [](const Tensor&, const Tensor& y) { return exp(y * y * 0.5) * std::sqrt(2 * pi); });
}

// dζ / dq = -s ζ(s + 1, q)
Tensor special_zeta(const Tensor& self, const Tensor& other) {
  return special_pair<ops::Zeta>(self, other,
                                 [](const Tensor& s, const Tensor& q) { return -s * special_zeta(s + 1, q); });
}
Tensor special_zeta(const Scalar& self, const Tensor& other) { return special_zeta(number_like(self, other), other); }
Tensor special_zeta(const Tensor& self, const Scalar& other) { return special_zeta(self, number_like(other, self)); }
Tensor igamma(const Tensor& self, const Tensor& other) { return special_pair<ops::Igamma>(self, other, gamma_slope); }
Tensor igammac(const Tensor& self, const Tensor& other) {
  return special_pair<ops::Igammac>(self, other, [](const Tensor& a, const Tensor& x) { return -gamma_slope(a, x); });
}
Tensor special_xlog1py(const Tensor& self, const Tensor& other) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return special_xlog1py(self, other);
  const Tensor y = as_type(other, float_type(result_type(self, other)));
  const Tensor nothing = logical_and(self == 0, logical_or(y <= -1, y == kInfinity));
  return self * where(nothing, Scalar(0.0), y).log1p();
}
Tensor special_xlog1py(const Scalar& self, const Tensor& other) {
  return special_xlog1py(number_like(self, other), other);
}
Tensor special_xlog1py(const Tensor& self, const Scalar& other) {
  return special_xlog1py(self, number_like(other, self));
}

#define TANDEM_POLYNOMIAL(f, Op, at) \
  Tensor special_##f(const Tensor& x, const Tensor& n) { return polynomial<ops::Op>(at, n); }
TANDEM_POLYNOMIAL(chebyshev_polynomial_t, ChebyshevT, x)
TANDEM_POLYNOMIAL(chebyshev_polynomial_u, ChebyshevU, x)
TANDEM_POLYNOMIAL(chebyshev_polynomial_v, ChebyshevV, x)
TANDEM_POLYNOMIAL(chebyshev_polynomial_w, ChebyshevW, x)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_t, ChebyshevT, 2 * x - 1)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_u, ChebyshevU, 2 * x - 1)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_v, ChebyshevV, 2 * x - 1)
TANDEM_POLYNOMIAL(shifted_chebyshev_polynomial_w, ChebyshevW, 2 * x - 1)
TANDEM_POLYNOMIAL(hermite_polynomial_h, HermiteH, x)
TANDEM_POLYNOMIAL(hermite_polynomial_he, HermiteHe, x)
TANDEM_POLYNOMIAL(laguerre_polynomial_l, LaguerreL, x)
TANDEM_POLYNOMIAL(legendre_polynomial_p, LegendreP, x)
#undef TANDEM_POLYNOMIAL

}  // namespace tandem
