// solve_triangular: A X = B for a triangular A. Gradients: gB = A⁻ᴴ gX; gA = -gB Xᴴ, in the triangle that is read.
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

struct SolveTriangularBackward final : NamedNode<SolveTriangularBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor gb = linalg_solve_triangular(a.unpack(*this).mH(), g[0], !upper, /*left=*/true, unit);
    if (needs(1)) out[1] = gb;
    if (!needs(0)) return;
    const Tensor product = matmul(gb, x.unpack(*this).mH()).neg();
    out[0] = upper ? product.triu(unit ? 1 : 0) : product.tril(unit ? -1 : 0);
  }
  TANDEM_SAVED(a, x);
  bool upper = false, unit = false;
};

Tensor solve_left(const Tensor& a, const Tensor& b, bool upper, bool unit) {
  Tensor x = empty_like_of(b, b.sizes());
  if (x.numel() != 0)
    backend(b).decomposition.solve_triangular(x, a.detach().contiguous(), b.detach().contiguous(), upper, unit);
  if (auto* node = record<SolveTriangularBackward>(x, a, b)) {
    node->a.save(a);
    if (node->needs(0)) node->x.save_output(x);
    node->upper = upper;
    node->unit = unit;
  }
  return x;
}

}  // namespace

Tensor linalg_solve_triangular(const Tensor& self, const Tensor& B, bool upper, bool left, bool unitriangular) {
  if (const auto to = autocast::full_precision(self))
    return linalg_solve_triangular(to(self), to(B), upper, left, unitriangular);
  check_square("linalg.solve_triangular", self);
  check_matrices("linalg.solve_triangular", B);
  check_alike("linalg.solve_triangular", "A", self, "B", B);
  const int64_t n = self.size(-1);
  check(B.size(left ? -2 : -1) == n, "linalg.solve_triangular: B must have ", n, left ? " rows" : " columns", "\n  A ",
        self, "\n  B ", B);
  if (!left) return linalg_solve_triangular(self.mT(), B.mT(), !upper, true, unitriangular).mT();
  const Dims batch = broadcast_sizes(batch_sizes(self), batch_sizes(B), "linalg.solve_triangular");
  return solve_left(self.expand(matrix_sizes(batch, n, n)), B.expand(matrix_sizes(batch, n, B.size(-1))), upper,
                    unitriangular);
}

std::tuple<Tensor, Tensor> triangular_solve(const Tensor& self, const Tensor& A, bool upper, bool transpose,
                                            bool unitriangular) {
  if (const auto to = autocast::full_precision(self))
    return triangular_solve(to(self), to(A), upper, transpose, unitriangular);
  check_square("triangular_solve", A);
  const Tensor factor = transpose ? A.mT() : A;
  const Tensor x = linalg_solve_triangular(factor, self, upper != transpose, true, unitriangular);
  return {x, A.expand(matrix_sizes(batch_sizes(x), A.size(-2), A.size(-1))).clone()};
}

}  // namespace tandem
