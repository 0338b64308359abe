// LU decompositions P L U = A, and solutions with them.
//
// The gradient of A follows from dA = P (dL U + L dU), with Φ = tril(Lᴴ gL, -1) + triu(gU Uᴴ): gA = P L⁻ᴴ Φ U⁻ᴴ for
// square matrices. With more columns, U = [U₁ U₂]: gA₂ = P L⁻ᴴ gU₂, and gU₂ U₂ᴴ is subtracted from Lᴴ gL. With more
// rows the same holds for L₂ = B₂ U⁻¹, where Pᵀ A = [B₁; B₂].
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace autograd {

LuFactors lu_factors(const Tensor& a) {
  const int64_t m = a.size(-2), n = a.size(-1);
  LuFactors f{empty_like_of(a, a.sizes()), empty_raw(vector_sizes(batch_sizes(a), std::min(m, n)), kInt, a.device()),
              no_info(a)};
  if (a.numel() != 0) backend(a).decomposition.lu_factor(f.lu, f.pivots, f.info, a.detach().contiguous());
  return f;
}

Tensor solve_with_lu(const Tensor& lu, const Tensor& permutation, const Tensor& b, bool adjoint) {
  const Dims batch = broadcast_sizes(batch_sizes(lu), batch_sizes(b), "lu_solve");
  const Tensor all = b.expand(matrix_sizes(batch, b.size(-2), b.size(-1)));
  if (!adjoint) {
    const Tensor y = linalg_solve_triangular(lu, permute_rows(all, permutation), false, true, true);
    return linalg_solve_triangular(lu, y, true);
  }
  const Tensor transposed = lu.mH(), y = linalg_solve_triangular(transposed, all, false);
  return permute_rows(linalg_solve_triangular(transposed, y, true, true, true), inverse_permutation(permutation));
}

}  // namespace autograd

namespace {
using namespace autograd;

Tensor factor_gradient(const Tensor& lu, const Tensor& permutation, const Tensor& g) {
  const int64_t m = lu.size(-2), n = lu.size(-1), k = std::min(m, n);
  const Tensor square = lu.narrow(-2, 0, k).narrow(-1, 0, k);
  const Tensor g_square = g.narrow(-2, 0, k).narrow(-1, 0, k);
  const Tensor lh = (square.tril(-1) + identity(lu, k)).mH(), uh = square.triu().mH();
  Tensor lower = matmul(lh, g_square.tril(-1)), upper = matmul(g_square.triu(), uh);
  if (m < n) lower = lower - matmul(g.narrow(-1, k, n - k), lu.narrow(-1, k, n - k).mH());
  if (m > n) upper = upper - matmul(lu.narrow(-2, k, m - k).mH(), g.narrow(-2, k, m - k));
  const Tensor inner = linalg_solve_triangular(lh, lower.tril(-1) + upper.triu(), true, true, true);
  Tensor out = linalg_solve_triangular(uh, inner, false, /*left=*/false);
  if (m < n) {
    const Tensor rest = linalg_solve_triangular(lh, g.narrow(-1, k, n - k), true, true, true);
    out = cat({out, rest}, -1);
  } else if (m > n) {
    const Tensor rest = linalg_solve_triangular(uh, g.narrow(-2, k, m - k), false, false);
    out = cat({out, rest}, -2);
  }
  return permute_rows(out, inverse_permutation(permutation));
}

struct LuFactorBackward final : NamedNode<LuFactorBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor factors = lu.unpack(*this);
    out[0] = factor_gradient(factors, permutation_of(pivots.unpack(*this), factors.size(-2)), g[0]);
  }
  TANDEM_SAVED(lu, pivots);
};

void check_pivoting(const char* operation, bool pivot) {
  if (!pivot) throw NotImplementedError(concat(operation, ": only partial pivoting is implemented; leave pivot true"));
}

LuFactors recorded_factors(const char* operation, const Tensor& a, bool pivot) {
  if (const auto to = autocast::full_precision(a)) return recorded_factors(operation, to(a), pivot);
  check_matrices(operation, a);
  check_pivoting(operation, pivot);
  LuFactors f = lu_factors(a);
  if (auto* node = record<LuFactorBackward>(f.lu, a)) {
    node->lu.save_output(f.lu);
    node->pivots.save(f.pivots);
  }
  return f;
}

const char* const kZeroPivot =
    "U[%,%] is zero and using it on lu_solve would result in a division by zero. If you still want to "
    "perform the "
    "factorization, consider calling linalg.lu(A, pivot) or linalg.lu_factor_ex(A, pivot)";

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_lu_factor_ex(const Tensor& A, bool pivot, bool check_errors) {
  const LuFactors f = recorded_factors("linalg.lu_factor_ex", A, pivot);
  if (check_errors) check_info("linalg.lu_factor_ex", f.info, kZeroPivot);
  return {f.lu, f.pivots, f.info};
}

std::tuple<Tensor, Tensor> linalg_lu_factor(const Tensor& A, bool pivot) {
  const LuFactors f = recorded_factors("linalg.lu_factor", A, pivot);
  check_info("linalg.lu_factor", f.info, kZeroPivot);
  return {f.lu, f.pivots};
}

std::tuple<Tensor, Tensor, Tensor> linalg_lu(const Tensor& A, bool pivot) {
  const LuFactors f = recorded_factors("linalg.lu", A, pivot);
  return lu_unpack(f.lu, f.pivots);
}

std::tuple<Tensor, Tensor, Tensor> lu_unpack(const Tensor& LU_data, const Tensor& LU_pivots, bool unpack_data,
                                             bool unpack_pivots) {
  check_matrices("lu_unpack", LU_data);
  check(LU_pivots.dtype() == kInt, "lu_unpack: expected pivots of int32, got ", LU_pivots);
  const int64_t m = LU_data.size(-2), n = LU_data.size(-1), k = std::min(m, n);
  const Tensor nothing = empty_like_of(LU_data, {0});
  Tensor p = nothing, l = nothing, u = nothing;
  if (unpack_data) {
    l = LU_data.narrow(-1, 0, k).tril(-1) + identity(LU_data, m, k);
    u = LU_data.narrow(-2, 0, k).triu();
  }
  if (unpack_pivots) {
    // Column c of P has its one in row permutation[c].
    const Tensor rows = arange(m, TensorOptions(kLong).device(LU_data.device())).unsqueeze(-1);
    p = (permutation_of(LU_pivots, m).unsqueeze(-2) == rows).to(LU_data.dtype());
  }
  return {p, l, u};
}

Tensor linalg_lu_solve(const Tensor& LU, const Tensor& pivots, const Tensor& B, bool left, bool adjoint) {
  if (const auto to = autocast::full_precision(LU)) return linalg_lu_solve(to(LU), pivots, to(B), left, adjoint);
  check_square("linalg.lu_solve", LU);
  check_matrices("linalg.lu_solve", B);
  check_alike("linalg.lu_solve", "LU", LU, "B", B);
  check(pivots.dtype() == kInt && Dims(pivots.sizes()) == vector_sizes(batch_sizes(LU), LU.size(-1)),
        "linalg.lu_solve: expected int32 pivots with the batch of LU\n  LU     ", LU, "\n  pivots ", pivots);
  check(B.size(left ? -2 : -1) == LU.size(-1), "linalg.lu_solve: B must have ", LU.size(-1),
        left ? " rows" : " columns", "\n  LU ", LU, "\n  B  ", B);
  const Tensor permutation = permutation_of(pivots, LU.size(-1));
  // X A = B is Aᴴ Xᴴ = Bᴴ.
  if (!left) return solve_with_lu(LU, permutation, B.mH(), !adjoint).mH();
  return solve_with_lu(LU, permutation, B, adjoint);
}

Tensor lu_solve(const Tensor& self, const Tensor& LU_data, const Tensor& LU_pivots) {
  return linalg_lu_solve(LU_data, LU_pivots, self);
}

}  // namespace tandem
