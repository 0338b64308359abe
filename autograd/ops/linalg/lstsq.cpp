// Pseudoinverses, least squares, ranks and condition numbers, by singular values.
//
// Gradient of P = A⁺ for a constant rank (Golub and Pereyra, "The differentiation of pseudo-inverses", 1973):
// gA = -Pᴴ gP Pᴴ + (I - A P) gPᴴ P Pᴴ + Pᴴ P gPᴴ (I - P A).
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct PinvBackward final : NamedNode<PinvBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor a = self.unpack(*this), p = result.unpack(*this), ph = p.mH(), gh = g[0].mH();
    const Tensor b = matmul(gh, matmul(p, ph)), c = matmul(matmul(ph, p), gh);
    out[0] = b - matmul(a, matmul(p, b)) + c - matmul(matmul(c, p), a) - matmul(ph, matmul(g[0], ph));
  }
  TANDEM_SAVED(self, result);
};

double default_tolerance(const Tensor& a) {
  const double epsilon = toRealValueType(a.dtype()) == kFloat ? std::numeric_limits<float>::epsilon()
                                                              : std::numeric_limits<double>::epsilon();
  return epsilon * static_cast<double>(std::max(a.size(-2), a.size(-1)));
}

/// The bound below which a singular value counts as 0, [*, 1] or [1].
Tensor bound(const Tensor& a, const Tensor& values, const optional<Tensor>& atol, const optional<Tensor>& rtol) {
  const TensorOptions options = values.options();
  const Tensor absolute = atol ? atol->detach().to(values.dtype()) : zeros({}, options);
  const Tensor relative = rtol ? rtol->detach().to(values.dtype())
                               : where(absolute > 0, Scalar(0.0), full({}, default_tolerance(a), options));
  const Tensor largest = values.amax({-1}, /*keepdim=*/true);
  return maximum(absolute.unsqueeze(-1), relative.unsqueeze(-1) * largest);
}

optional<Tensor> number(const Tensor& a, optional<double> value) {
  if (!value) return nullopt;
  return full({}, *value, TensorOptions(toRealValueType(a.dtype())).device(a.device()));
}

// 1 / values where they exceed the bound, else 0.
Tensor reciprocals(const Tensor& values, const Tensor& magnitudes, const Tensor& limit) {
  const Tensor counts = magnitudes > limit;
  return where(counts, where(counts, values, Scalar(1.0)).reciprocal(), Scalar(0.0));
}

Tensor pseudoinverse(const Tensor& a, const optional<Tensor>& atol, const optional<Tensor>& rtol, bool hermitian) {
  const NoGradGuard no_grad;
  if (hermitian) {
    const auto [values, vectors] = linalg_eigh(a);
    const Tensor magnitudes = values.abs();
    const Tensor inverse = reciprocals(values, magnitudes, bound(a, magnitudes, atol, rtol));
    return matmul(vectors * inverse.unsqueeze(-2), vectors.mH());
  }
  const auto [u, s, vh] = linalg_svd(a, /*full_matrices=*/false);
  const Tensor inverse = reciprocals(s, s, bound(a, s, atol, rtol));
  return matmul(vh.mH() * inverse.unsqueeze(-2), u.mH());
}

Tensor condition(const Tensor& a, const Tensor& norm_of_a, const Tensor& inverse_norm, const Tensor& info) {
  return where(info != 0, Scalar(std::numeric_limits<double>::infinity()), norm_of_a * inverse_norm);
}

}  // namespace

Tensor linalg_pinv(const Tensor& self, const optional<Tensor>& atol, const optional<Tensor>& rtol, bool hermitian) {
  if (const auto to = autocast::full_precision(self)) return linalg_pinv(to(self), atol, rtol, hermitian);
  hermitian ? check_square("linalg.pinv", self) : check_matrices("linalg.pinv", self);
  if (self.numel() == 0) return self.mH().clone();
  const Tensor out = pseudoinverse(self, atol, rtol, hermitian);
  if (auto* node = record<PinvBackward>(out, self)) {
    node->self.save(self);
    node->result.save_output(out);
  }
  return out;
}
Tensor linalg_pinv(const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian) {
  return linalg_pinv(self, number(self, atol), number(self, rtol), hermitian);
}
Tensor linalg_pinv(const Tensor& self, double rcond, bool hermitian) {
  return linalg_pinv(self, number(self, 0.0), number(self, rcond), hermitian);
}
Tensor linalg_pinv(const Tensor& self, const Tensor& rcond, bool hermitian) {
  return linalg_pinv(self, number(self, 0.0), optional<Tensor>(rcond), hermitian);
}

Tensor linalg_matrix_rank(const Tensor& input, const optional<Tensor>& atol, const optional<Tensor>& rtol,
                          bool hermitian) {
  if (const auto to = autocast::full_precision(input)) return linalg_matrix_rank(to(input), atol, rtol, hermitian);
  hermitian ? check_square("linalg.matrix_rank", input) : check_matrices("linalg.matrix_rank", input);
  if (input.size(-1) == 0 || input.size(-2) == 0)
    return zeros(batch_sizes(input), TensorOptions(kLong).device(input.device()));
  const NoGradGuard no_grad;
  const Tensor values = hermitian ? linalg_eigvalsh(input).abs() : linalg_svdvals(input);
  return (values > bound(input, values, atol, rtol)).sum({-1});
}
Tensor linalg_matrix_rank(const Tensor& self, optional<double> atol, optional<double> rtol, bool hermitian) {
  return linalg_matrix_rank(self, number(self, atol), number(self, rtol), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& self, double tol, bool hermitian) {
  return linalg_matrix_rank(self, number(self, tol), number(self, 0.0), hermitian);
}
Tensor linalg_matrix_rank(const Tensor& input, const Tensor& tol, bool hermitian) {
  return linalg_matrix_rank(input, optional<Tensor>(tol), number(input, 0.0), hermitian);
}

Tensor linalg_cond(const Tensor& self, const optional<Scalar>& p) {
  if (const auto to = autocast::full_precision(self)) return linalg_cond(to(self), p);
  const double order = p ? p->toDouble() : 2;
  if (std::abs(order) == 2) {
    const Tensor s = linalg_svdvals(self), first = s.select(-1, 0), last = s.select(-1, s.size(-1) - 1);
    return order > 0 ? first / last : last / first;
  }
  check_square("linalg.cond", self);
  const auto [inverse, info] = linalg_inv_ex(self);
  return condition(self, linalg_matrix_norm(self, order), linalg_matrix_norm(inverse, order), info);
}
Tensor linalg_cond(const Tensor& self, std::string_view p) {
  if (const auto to = autocast::full_precision(self)) return linalg_cond(to(self), p);
  check_square("linalg.cond", self);
  check(p == "fro" || p == "nuc", "linalg.cond: p must be a number, 'fro' or 'nuc', got '", p, "'");
  const auto [inverse, info] = linalg_inv_ex(self);
  // The singular values of an inverse that is not finite cannot be computed.
  const Tensor finite = where((info != 0).unsqueeze(-1).unsqueeze(-1), Scalar(0.0), inverse);
  return condition(self, linalg_matrix_norm(self, p), linalg_matrix_norm(finite, p), info);
}

std::tuple<Tensor, Tensor, Tensor, Tensor> linalg_lstsq(const Tensor& self, const Tensor& b, optional<double> rcond,
                                                        optional<std::string_view> driver) {
  if (const auto to = autocast::full_precision(self)) return linalg_lstsq(to(self), to(b), rcond, driver);
  const std::string_view method = driver.value_or("gelsy");
  check(method == "gels" || method == "gelsy" || method == "gelsd" || method == "gelss",
        "linalg.lstsq: driver must be 'gels', 'gelsy', 'gelsd' or 'gelss', got '", method, "'");
  check_matrices("linalg.lstsq", self);
  check_alike("linalg.lstsq", "A", self, "B", b);
  const bool vector =
      b.dim() == 1 || (b.dim() + 1 == self.dim() && b.sizes() == self.sizes().slice(0, self.sizes().size() - 1));
  const Tensor right = vector ? b.unsqueeze(-1) : b;
  const int64_t m = self.size(-2), n = self.size(-1);
  check(right.dim() >= 2 && right.size(-2) == m, "linalg.lstsq: B must have ", m, " rows\n  A ", self, "\n  B ", b);
  const double relative = rcond.value_or(default_tolerance(self));
  const Tensor x = matmul(linalg_pinv(self, relative), right), nothing = empty_real_like_of(self, {0});
  Tensor rank = empty_raw({0}, kLong, self.device()), values = nothing, residuals = nothing;
  if (method != "gels") rank = linalg_matrix_rank(self, optional<double>(0.0), optional<double>(relative));
  if (method == "gelsd" || method == "gelss") values = linalg_svdvals(self.detach());
  if (m > n && method != "gelsy" && (method == "gels" || (rank == n).all().item<bool>()))
    residuals = (matmul(self, x) - right).abs().square().sum({-2});
  return {vector ? x.squeeze(-1) : x, residuals, rank, values};
}

}  // namespace tandem
