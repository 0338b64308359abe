// Cholesky decompositions L Lᴴ = A. Gradient: with Φ = tril(Lᴴ gL) and half of its diagonal, gA is the Hermitian part
// of L⁻ᴴ Φ L⁻¹ (Murray, "Differentiation of the Cholesky decomposition", 2016).
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

struct CholeskyBackward final : NamedNode<CholeskyBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor factor = l.unpack(*this), adjoint = factor.mH(), product = matmul(adjoint, g[0]);
    const Tensor phi = (product.tril() + product.tril(-1)) * 0.5;
    const Tensor left = linalg_solve_triangular(adjoint, phi, /*upper=*/true);
    const Tensor both = linalg_solve_triangular(factor, left, /*upper=*/false, /*left=*/false);
    out[0] = (both + both.mH()) * 0.5;
  }
  TANDEM_SAVED(l);
};

const char* const kNotPositive =
    "The factorization could not be completed because the input is not positive-definite (the leading minor "
    "of order "
    "% is not positive-definite).";

std::tuple<Tensor, Tensor> factor_of(const char* operation, const Tensor& a, bool upper) {
  if (const auto to = autocast::full_precision(a)) return factor_of(operation, to(a), upper);
  check_square(operation, a);
  Tensor l = empty_like_of(a, a.sizes()), info = no_info(a);
  const Tensor lower = upper ? a.mH() : a;
  if (a.numel() != 0) backend(a).decomposition.cholesky(l, info, lower.detach().contiguous());
  if (auto* node = record<CholeskyBackward>(l, lower)) node->l.save_output(l);
  return {upper ? l.mH() : l, info};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_cholesky_ex(const Tensor& self, bool upper, bool check_errors) {
  const auto result = factor_of("linalg.cholesky_ex", self, upper);
  if (check_errors) check_info("linalg.cholesky_ex", std::get<1>(result), kNotPositive);
  return result;
}
Tensor linalg_cholesky(const Tensor& self, bool upper) {
  const auto [l, info] = factor_of("linalg.cholesky", self, upper);
  check_info("linalg.cholesky", info, kNotPositive);
  return l;
}

// L Lᴴ X = B, or Uᴴ U X = B.
Tensor cholesky_solve(const Tensor& self, const Tensor& input2, bool upper) {
  if (const auto to = autocast::full_precision(self)) return cholesky_solve(to(self), to(input2), upper);
  check_square("cholesky_solve", input2);
  check_matrices("cholesky_solve", self);
  check_alike("cholesky_solve", "self  ", self, "input2", input2);
  const Tensor l = upper ? input2.mH() : input2;
  return linalg_solve_triangular(l.mH(), linalg_solve_triangular(l, self, false), true);
}
Tensor cholesky_inverse(const Tensor& self, bool upper) {
  if (const auto to = autocast::full_precision(self)) return cholesky_inverse(to(self), upper);
  check_square("cholesky_inverse", self);
  return cholesky_solve(identity(self, self.size(-1)), self, upper);
}

}  // namespace tandem
