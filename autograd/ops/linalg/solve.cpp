// Systems of linear equations, inverses and determinants, by LU decompositions.
//
// Gradients: X = A⁻¹ B: gB = A⁻ᴴ gX, gA = -gB Xᴴ. X = A⁻¹: gA = -Xᴴ gX Xᴴ. det A: gA = g conj(det A) A⁻ᴴ. The logarithm
// of the determinant has the differential tr(A⁻¹ dA): its real part is the differential of log |det A|, its
// imaginary part the change of the sign's phase. So gA = (g - i Im(conj(h) sign)) A⁻ᴴ for the gradients g of
// log |det A| and h of the sign.
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/sum_to.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

struct SolveBackward final : NamedNode<SolveBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    // Recorded, the solution must depend on A; else the decomposition is used again.
    const Tensor gb = GradMode::is_enabled() ? std::get<0>(linalg_solve_ex(a.unpack(*this).mH(), g[0]))
                                             : solve_with_lu(lu.unpack(*this), permutation.unpack(*this), g[0], true);
    if (needs(1)) out[1] = sum_to_size(gb, b_sizes);
    if (needs(0)) out[0] = sum_to_size(matmul(gb, x.unpack(*this).mH()).neg(), a_sizes);
  }
  TANDEM_SAVED(a, x, lu, permutation);
  Dims a_sizes, b_sizes;
};

// A X = B for matrices B.
Tensor solve_matrices(const Tensor& a, const Tensor& b, Tensor& info) {
  const LuFactors f = lu_factors(a);
  info = f.info;
  const Tensor permutation = permutation_of(f.pivots, a.size(-1));
  Tensor x;
  {
    const NoGradGuard no_grad;
    x = solve_with_lu(f.lu, permutation, b, false);
  }
  if (auto* node = record<SolveBackward>(x, a, b)) {
    node->a.save(a);
    if (node->needs(0)) node->x.save_output(x);
    node->lu.save(f.lu);
    node->permutation.save(permutation);
    node->a_sizes = a.sizes();
    node->b_sizes = b.sizes();
  }
  return x;
}

// B is a batch of vectors if it has one dimension, or the shape of A without its last dimension.
bool is_vector(const Tensor& a, const Tensor& b) {
  return b.dim() == 1 || (b.dim() + 1 == a.dim() && b.sizes() == a.sizes().slice(0, a.sizes().size() - 1));
}

Tensor solve_any(const char* operation, const Tensor& a, const Tensor& b, bool left, Tensor& info) {
  if (const auto to = autocast::full_precision(a)) return solve_any(operation, to(a), to(b), left, info);
  check_square(operation, a);
  check_alike(operation, "A", a, "B", b);
  const bool vector = is_vector(a, b);
  check(left || !vector, operation, ": B of vectors needs left = true\n  A ", a, "\n  B ", b);
  check(vector || b.dim() >= 2, operation, ": B must be vectors or matrices\n  A ", a, "\n  B ", b);
  const Tensor matrices = vector ? b.unsqueeze(-1) : b;
  check(matrices.size(left ? -2 : -1) == a.size(-1), operation, ": B must have ", a.size(-1),
        left ? " rows" : " columns", "\n  A ", a, "\n  B ", b);
  if (!left) return solve_matrices(a.mT(), matrices.mT(), info).mT();
  const Tensor x = solve_matrices(a, matrices, info);
  return vector ? x.squeeze(-1) : x;
}

struct InverseBackward final : NamedNode<InverseBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor xt = x.unpack(*this).mH();
    out[0] = matmul(xt, matmul(g[0], xt)).neg();
  }
  TANDEM_SAVED(x);
};

std::tuple<Tensor, Tensor> inverse_of(const char* operation, const Tensor& a) {
  if (const auto to = autocast::full_precision(a)) return inverse_of(operation, to(a));
  check_square(operation, a);
  Tensor x, info;
  {
    const NoGradGuard no_grad;
    x = solve_matrices(a, identity(a, a.size(-1)), info);
  }
  if (auto* node = record<InverseBackward>(x, a)) node->x.save_output(x);
  return {x, info};
}

const char* const kSingularInverse =
    "The diagonal element % is zero, the inversion could not be completed because the input matrix is "
    "singular.";
const char* const kSingular = "The solver failed because the input matrix is singular.";

// 1 or -1 for an even or odd number of exchanges.
Tensor parity(const Tensor& pivots, ScalarType dtype) {
  const Tensor own = arange(1, pivots.size(-1) + 1, TensorOptions(kInt).device(pivots.device()));
  return 1 - 2 * (pivots != own).sum({-1}).remainder(2).to(dtype);
}
Tensor main_diagonal(const Tensor& a) { return a.diagonal(0, -2, -1); }
// value [batch] times the identity.
Tensor scaled_identity(const Tensor& value, const Tensor& a) {
  return value.unsqueeze(-1).unsqueeze(-1) * identity(a, a.size(-1));
}

struct DetBackward final : NamedNode<DetBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor matrix = a.unpack(*this);
    if (GradMode::is_enabled()) {
      // Singular matrices get the gradient 0, as in PyTorch: their right-hand side is 0.
      const Tensor value = det.unpack(*this), singular = (value == 0).unsqueeze(-1).unsqueeze(-1);
      const Tensor regular = where(singular, identity(matrix, matrix.size(-1)), matrix);
      out[0] = std::get<0>(linalg_solve_ex(regular.mH(), scaled_identity(g[0] * conj(value), matrix)));
      return;
    }
    // The adjugate is continuous: a pivot of 0 is replaced by a number near it.
    const double epsilon = toRealValueType(matrix.dtype()) == kFloat ? std::numeric_limits<float>::epsilon()
                                                                     : std::numeric_limits<double>::epsilon();
    const Tensor factors = lu.unpack(*this), order = pivots.unpack(*this);
    const Tensor zero = main_diagonal(factors) == 0, shift = zero.to(matrix.dtype()) * epsilon;
    const Tensor regular = factors + shift.diag_embed();
    // With two of them, the adjugate is 0.
    const Tensor value =
        where(zero.sum({-1}) > 1, Scalar(0.0), main_diagonal(regular).prod(-1) * parity(order, matrix.dtype()));
    out[0] = solve_with_lu(regular, permutation_of(order, matrix.size(-1)), scaled_identity(g[0] * conj(value), matrix),
                           /*adjoint=*/true);
  }
  TANDEM_SAVED(a, det, lu, pivots);
};

struct SlogdetBackward final : NamedNode<SlogdetBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    // Of a real matrix, only the logarithm is recorded.
    Tensor factor = of_complex ? g[1] : g[0];
    if (of_complex && g[0].defined()) {
      const Tensor phase = -imag(conj(g[0]) * sign.unpack(*this));
      factor = complex(factor.defined() ? factor : zeros_like(phase), phase);
    }
    if (!factor.defined()) return;
    const Tensor matrix = a.unpack(*this), scaled = scaled_identity(factor.to(matrix.dtype()), matrix);
    out[0] = GradMode::is_enabled()
                 ? std::get<0>(linalg_solve_ex(matrix.mH(), scaled))
                 : solve_with_lu(lu.unpack(*this), permutation_of(pivots.unpack(*this), matrix.size(-1)), scaled,
                                 /*adjoint=*/true);
  }
  TANDEM_SAVED(a, sign, lu, pivots);
  bool of_complex = false;
};

}  // namespace

std::tuple<Tensor, Tensor> linalg_solve_ex(const Tensor& A, const Tensor& B, bool left, bool check_errors) {
  Tensor info;
  const Tensor x = solve_any("linalg.solve_ex", A, B, left, info);
  if (check_errors) check_info("linalg.solve_ex", info, kSingular);
  return {x, info};
}
Tensor linalg_solve(const Tensor& A, const Tensor& B, bool left) {
  Tensor info;
  const Tensor x = solve_any("linalg.solve", A, B, left, info);
  check_info("linalg.solve", info, kSingular);
  return x;
}

std::tuple<Tensor, Tensor> linalg_inv_ex(const Tensor& A, bool check_errors) {
  const auto result = inverse_of("linalg.inv_ex", A);
  if (check_errors) check_info("linalg.inv_ex", std::get<1>(result), kSingularInverse);
  return result;
}
Tensor linalg_inv(const Tensor& A) {
  const auto [x, info] = inverse_of("linalg.inv", A);
  check_info("linalg.inv", info, kSingularInverse);
  return x;
}

Tensor linalg_det(const Tensor& A) {
  if (const auto to = autocast::full_precision(A)) return linalg_det(to(A));
  check_square("linalg.det", A);
  const LuFactors f = lu_factors(A);
  const Tensor out = main_diagonal(f.lu).prod(-1) * parity(f.pivots, A.dtype());
  if (auto* node = record<DetBackward>(out, A)) {
    node->a.save(A);
    node->det.save_output(out);
    node->lu.save(f.lu);
    node->pivots.save(f.pivots);
  }
  return out;
}

std::tuple<Tensor, Tensor> linalg_slogdet(const Tensor& A) {
  if (const auto to = autocast::full_precision(A)) return linalg_slogdet(to(A));
  check_square("linalg.slogdet", A);
  const LuFactors f = lu_factors(A);
  const Tensor pivots = main_diagonal(f.lu);
  Tensor sign = sgn(pivots).prod(-1) * parity(f.pivots, A.dtype()), logarithm = pivots.abs().log().sum({-1});
  const auto save = [&](SlogdetBackward* node) {
    if (node == nullptr) return;
    node->a.save(A);
    node->lu.save(f.lu);
    node->pivots.save(f.pivots);
    node->of_complex = A.is_complex();
    if (node->of_complex) node->sign.save_output(sign, 0);
  };
  if (A.is_complex())
    save(record_list<SlogdetBackward>({sign, logarithm}, {A}));
  else
    save(record<SlogdetBackward>(logarithm, A));
  return {sign, logarithm};
}

Tensor logdet(const Tensor& self) {
  const auto [sign, logarithm] = linalg_slogdet(self);
  if (self.is_complex()) return sign.log() + logarithm;
  return where(sign < 0, Scalar(std::numeric_limits<double>::quiet_NaN()), logarithm);
}

}  // namespace tandem
