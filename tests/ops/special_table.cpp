// Describes the special functions.
#include "tandem/tests/ops/cases.h"
#include "tandem/tests/ops/operation_table.h"

namespace tandem::testing {
namespace {

using Cases = std::vector<std::vector<InputSpec>>;

Cases between(double low, double high) {
  return {{real({3, 4}, low, high)}, {real({}, low, high)}, {real({0, 3}, low, high)}};
}
Cases pairs(double a, double b, double low, double high) {
  return {{real({3, 4}, a, b), real({3, 4}, low, high)}, {real({2, 1}, a, b), real({3}, low, high)}};
}
/// The first argument without a gradient.
Cases half(double a, double b, double low, double high) {
  return {{constant({3, 4}, a, b), real({3, 4}, low, high)}, {constant({2, 1}, a, b), real({3}, low, high)}};
}
/// PyTorch's derivative of digamma has relative errors of 1e-9.
template <class F>
OpTest loose(std::string name, std::string torch, F f, Cases cases) {
  OpTest test = op(
      std::move(name), std::move(torch), [f](const Tensors& x) { return f(x[0]); }, std::move(cases));
  test.tolerance64 = 1e-8;
  return test;
}
const Cases kDegrees = {{constant({3, 4}, -1.5, 1.5), integers({4}, -1, 6)},
                        {constant({5}, -0.9, 0.9), integers({5}, 0, 20)}};

std::vector<Operation> gamma() {
  return {
      {OPERATION(lgamma, T(CT)),
       .examples = {{"lgamma", "x0", between(0.3, 6)}, {"lgamma negative", "x0", between(-1.9, -1.1)}}},
      {OPERATION(digamma, T(CT)),
       .tests = {loose(
                     "digamma", "torch.digamma(x0)", [](const Tensor& x) { return digamma(x); }, between(0.3, 6)),
                 loose(
                     "digamma negative", "torch.digamma(x0)", [](const Tensor& x) { return digamma(x); },
                     between(-1.9, -1.1))}},
      {OPERATION(polygamma, T(I, CT)), .examples = {{"polygamma", "2, x0", between(0.6, 6)}},
       .tests = {loose(
           "polygamma 0", "torch.polygamma(0, x0)", [](const Tensor& x) { return polygamma(0, x); }, between(0.6, 6))}},
      {OPERATION(mvlgamma, T(CT, I)), .examples = {{"mvlgamma", "x0, 3", between(1.3, 6)}}},
      {OPERATION(special_zeta, T(CT, CT), T(CS, CT), T(CT, CS)), .torch = "torch.special.zeta",
       .examples = {{"special_zeta", "x0, x1", half(1.5, 6, 0.5, 9)}}},
      {OPERATION(igamma, T(CT, CT)), .examples = {{"igamma", "x0, x1", half(0.2, 5, 0.2, 9)}}},
      {OPERATION(igammac, T(CT, CT)), .examples = {{"igammac", "x0, x1", half(0.2, 5, 0.2, 9)}}},
  };
}

std::vector<Operation> errors_and_bessel() {
  return {
      {OPERATION(erfinv, T(CT)), .examples = {{"erfinv", "x0", between(-0.95, 0.95)}}},
      {OPERATION(special_erfcx, T(CT)), .torch = "torch.special.erfcx",
       .examples = {{"special_erfcx", "x0", between(-2, 6)}}},
      {OPERATION(special_ndtr, T(CT)), .torch = "torch.special.ndtr",
       .examples = {{"special_ndtr", "x0", between(-5, 5)}}},
      {OPERATION(special_log_ndtr, T(CT)), .torch = "torch.special.log_ndtr",
       .examples = {{"special_log_ndtr", "x0", between(-6, 4)}}},
      {OPERATION(special_ndtri, T(CT)), .torch = "torch.special.ndtri",
       .examples = {{"special_ndtri", "x0", between(0.05, 0.95)}}},
      {OPERATION(special_entr, T(CT)), .torch = "torch.special.entr",
       .examples = {{"special_entr", "x0", between(0.2, 3)}}},
      {OPERATION(special_xlog1py, T(CT, CT), T(CS, CT), T(CT, CS)), .torch = "torch.special.xlog1py",
       .examples = {{"special_xlog1py", "x0, x1", pairs(-2, 2, -0.6, 3)}}},
      {OPERATION(i0, T(CT)), .examples = {{"i0", "x0", between(-4, 4)}}},
      {OPERATION(special_i0e, T(CT)), .torch = "torch.special.i0e",
       .examples = {{"special_i0e", "x0", between(0.2, 25)}}},
      {OPERATION(special_i1, T(CT)), .torch = "torch.special.i1", .examples = {{"special_i1", "x0", between(0.2, 4)}}},
      {OPERATION(special_i1e, T(CT)), .torch = "torch.special.i1e",
       .examples = {{"special_i1e", "x0", between(-25, -0.2)}}},
      {OPERATION(special_spherical_bessel_j0, T(CT)), .torch = "torch.special.spherical_bessel_j0",
       .tests = {{.name = "special_spherical_bessel_j0",
                  .torch = "torch.sinc(x0 / torch.pi)",
                  .fn = [](const Tensors& x) { return Tensors{special_spherical_bessel_j0(x[0])}; },
                  .cases = between(-9, 9)}}},
  };
}

// PyTorch's J and Y have absolute errors of up to 3e-7 between 2 and 20, and its Ai of up to 3e-6 between -5 and -1;
// tests/ops/pointwise/bessel_test.cpp has values there.
std::vector<Operation> bessel() {
  return {
      {OPERATION(special_bessel_j0, T(CT)), .torch = "torch.special.bessel_j0",
       .examples = {{"special_bessel_j0", "x0", between(-1.8, 1.8)}, {"special_bessel_j0 far", "x0", between(25, 60)}}},
      {OPERATION(special_bessel_j1, T(CT)), .torch = "torch.special.bessel_j1",
       .examples = {{"special_bessel_j1", "x0", between(-1.8, 1.8)}, {"special_bessel_j1 far", "x0", between(25, 60)}}},
      {OPERATION(special_bessel_y0, T(CT)), .torch = "torch.special.bessel_y0",
       .examples = {{"special_bessel_y0", "x0", between(0.3, 1.8)}, {"special_bessel_y0 far", "x0", between(25, 60)}}},
      {OPERATION(special_bessel_y1, T(CT)), .torch = "torch.special.bessel_y1",
       .examples = {{"special_bessel_y1", "x0", between(0.3, 1.8)}, {"special_bessel_y1 far", "x0", between(25, 60)}}},
      {OPERATION(special_modified_bessel_k0, T(CT)), .torch = "torch.special.modified_bessel_k0",
       .examples = {{"special_modified_bessel_k0", "x0", between(0.3, 9)}}},
      {OPERATION(special_modified_bessel_k1, T(CT)), .torch = "torch.special.modified_bessel_k1",
       .examples = {{"special_modified_bessel_k1", "x0", between(0.3, 9)}}},
      {OPERATION(special_scaled_modified_bessel_k0, T(CT)), .torch = "torch.special.scaled_modified_bessel_k0",
       .examples = {{"special_scaled_modified_bessel_k0", "x0", between(0.1, 30), false}}},
      {OPERATION(special_scaled_modified_bessel_k1, T(CT)), .torch = "torch.special.scaled_modified_bessel_k1",
       .examples = {{"special_scaled_modified_bessel_k1", "x0", between(0.1, 30), false}}},
      {OPERATION(special_airy_ai, T(CT)), .torch = "torch.special.airy_ai",
       .examples = {{"special_airy_ai", "x0", between(-0.9, 8), false},
                    {"special_airy_ai far", "x0", between(-15, -6), false}}},
  };
}

std::vector<Operation> polynomials() {
  std::vector<Operation> all = {
      {OPERATION(special_chebyshev_polynomial_t, T(CT, CT))},
      {OPERATION(special_chebyshev_polynomial_u, T(CT, CT))},
      {OPERATION(special_chebyshev_polynomial_v, T(CT, CT))},
      {OPERATION(special_chebyshev_polynomial_w, T(CT, CT))},
      {OPERATION(special_shifted_chebyshev_polynomial_t, T(CT, CT))},
      {OPERATION(special_shifted_chebyshev_polynomial_u, T(CT, CT))},
      {OPERATION(special_shifted_chebyshev_polynomial_v, T(CT, CT))},
      {OPERATION(special_shifted_chebyshev_polynomial_w, T(CT, CT))},
      {OPERATION(special_hermite_polynomial_h, T(CT, CT))},
      {OPERATION(special_hermite_polynomial_he, T(CT, CT))},
      {OPERATION(special_laguerre_polynomial_l, T(CT, CT))},
      {OPERATION(special_legendre_polynomial_p, T(CT, CT))},
  };
  for (Operation& f : all) {
    f.torch = "torch.special." + f.name.substr(std::string("special_").size());
    f.examples = {{f.name, "x0, x1", kDegrees, false}};
  }
  return all;
}

}  // namespace

std::vector<Operation> special_operations() { return joined({gamma, errors_and_bessel, bessel, polynomials}); }

}  // namespace tandem::testing
