// L D Lᵀ decompositions of symmetric matrices, L D Lᴴ of Hermitian ones, and solutions with them.
// PyTorch defines no derivatives of them.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

std::tuple<Tensor, Tensor, Tensor> factors_of(const char* operation, const Tensor& a, bool hermitian) {
  if (const auto to = autocast::full_precision(a)) return factors_of(operation, to(a), hermitian);
  check_square(operation, a);
  check(!recording(a), operation, ": has no gradient; detach the argument");
  Tensor ld = empty_like_of(a, a.sizes()), info = no_info(a);
  Tensor pivots = empty_raw(vector_sizes(batch_sizes(a), a.size(-1)), kInt, a.device());
  if (a.numel() != 0) backend(a).decomposition.ldl_factor(ld, pivots, info, a.contiguous(), hermitian);
  return {ld, pivots, info};
}

const char* const kZeroBlock = "D[%,%] is zero and using it on ldl_solve would result in a division by zero.";

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_ldl_factor_ex(const Tensor& self, bool hermitian, bool check_errors) {
  const auto result = factors_of("linalg.ldl_factor_ex", self, hermitian);
  if (check_errors) check_info("linalg.ldl_factor_ex", std::get<2>(result), kZeroBlock);
  return result;
}

std::tuple<Tensor, Tensor> linalg_ldl_factor(const Tensor& self, bool hermitian) {
  const auto [ld, pivots, info] = factors_of("linalg.ldl_factor", self, hermitian);
  check_info("linalg.ldl_factor", info, kZeroBlock);
  return {ld, pivots};
}

Tensor linalg_ldl_solve(const Tensor& LD, const Tensor& pivots, const Tensor& B, bool hermitian) {
  if (const auto to = autocast::full_precision(LD)) return linalg_ldl_solve(to(LD), pivots, to(B), hermitian);
  check_square("linalg.ldl_solve", LD);
  check_matrices("linalg.ldl_solve", B);
  check_alike("linalg.ldl_solve", "LD", LD, "B ", B);
  const int64_t n = LD.size(-1);
  check(pivots.dtype() == kInt && Dims(pivots.sizes()) == vector_sizes(batch_sizes(LD), n),
        "linalg.ldl_solve: expected int32 pivots with the batch of LD\n  LD     ", LD, "\n  pivots ", pivots);
  check_same_device("linalg.ldl_solve", LD, pivots);
  check(B.size(-2) == n, "linalg.ldl_solve: B must have ", n, " rows\n  LD ", LD, "\n  B  ", B);
  check(!recording(LD, B), "linalg.ldl_solve: has no gradient; detach the arguments");
  const Dims batch = broadcast_sizes(batch_sizes(LD), batch_sizes(B), "linalg.ldl_solve");
  Tensor out = empty_like_of(B, matrix_sizes(batch, n, B.size(-1)));
  if (out.numel() == 0) return out;
  const Tensor rows = pivots.abs();
  check(rows.amin().item<int>() >= 1 && rows.amax().item<int>() <= n, "linalg.ldl_solve: pivots must be between 1 and ",
        n, " or between -", n, " and -1; use those of linalg_ldl_factor");
  backend(out).decomposition.ldl_solve(out, LD.expand(matrix_sizes(batch, n, n)).contiguous(),
                                       pivots.expand(vector_sizes(batch, n)).contiguous(),
                                       B.expand(out.sizes()).contiguous(), hermitian);
  return out;
}

}  // namespace tandem
