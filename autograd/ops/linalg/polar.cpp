// Polar decompositions U H = A and square roots X X = A of Hermitian matrices. Their differentials satisfy Sylvester's
// equation H Z + Z H = Y, whose Hermitian H is H itself or X; the solution S(Y) is linear and its own adjoint.
//
// dX = S(dA), so gA is the Hermitian part of S(gX). From Uᴴ U = 1 and dA = dU H + U dH follow Uᴴ dU = S(Uᴴ dA - dAᴴ U),
// dH = Uᴴ dA - Uᴴ dU H and, for the part orthogonal to U, dU = dA H⁻¹; so gA = U (Z - Zᴴ + gH) + (gU - U Uᴴ gU) H⁻¹
// with Z = S(Uᴴ gU - gH H).
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor sylvester(const Tensor& h, const Tensor& y);

// Z = S(Y) at H: H dZ + dZ H = dY - dH Z - Z dH.
struct SylvesterBackward final : NamedNode<SylvesterBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor matrix = h.unpack(*this), gy = sylvester(matrix, g[0]);
    if (needs(0)) {
      const Tensor solution = z.unpack(*this);
      out[0] = -(matmul(gy, solution.mH()) + matmul(solution.mH(), gy));
    }
    out[1] = gy;
  }
  TANDEM_SAVED(h, z);
};

/// Z with H Z + Z H = Y for Hermitian H without eigenvalues λ and -λ.
Tensor sylvester(const Tensor& h, const Tensor& y) {
  Tensor z;
  {
    NoGradGuard no_grad;
    const auto [values, vectors] = linalg_eigh(h);
    const Tensor inner = matmul(vectors.mH(), matmul(y, vectors));
    z = matmul(vectors, matmul(inner / (values.unsqueeze(-1) + values.unsqueeze(-2)), vectors.mH()));
  }
  if (auto* node = record<SylvesterBackward>(z, h, y)) {
    node->h.save(h);
    node->z.save_output(z);
  }
  return z;
}

struct MatrixSqrthBackward final : NamedNode<MatrixSqrthBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor z = sylvester(root.unpack(*this), g[0]);
    out[0] = (z + z.mH()) * 0.5;
  }
  TANDEM_SAVED(root);
};

struct PolarBackward final : NamedNode<PolarBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor uu = u.unpack(*this), hh = h.unpack(*this);
    Tensor inner;
    if (g[0].defined()) inner = matmul(uu.mH(), g[0]);
    if (g[1].defined()) inner = inner.defined() ? inner - matmul(g[1], hh) : -matmul(g[1], hh);
    const Tensor z = sylvester(hh, inner);
    Tensor square = z - z.mH();
    if (g[1].defined()) square = square + g[1];
    out[0] = matmul(uu, square);
    if (!g[0].defined() || uu.size(-2) == uu.size(-1)) return;
    const Tensor outside = g[0] - matmul(uu, matmul(uu.mH(), g[0]));
    out[0] = out[0] + linalg_solve(hh, outside, /*left=*/false);
  }
  TANDEM_SAVED(u, h);
};

}  // namespace

Tensor linalg_matrix_sqrth(const Tensor& self) {
  if (const auto to = autocast::full_precision(self)) return linalg_matrix_sqrth(to(self));
  check_square("linalg.matrix_sqrth", self);
  Tensor root;
  {
    NoGradGuard no_grad;
    const auto [values, vectors] = linalg_eigh(self);
    root = matmul(vectors * values.clamp_min(0).sqrt().unsqueeze(-2), vectors.mH());
  }
  if (auto* node = record<MatrixSqrthBackward>(root, self)) node->root.save_output(root);
  return root;
}

std::tuple<Tensor, Tensor> linalg_polar(const Tensor& A) {
  if (const auto to = autocast::full_precision(A)) {  // in no list, but its singular values are in that of float32
    const auto [u, h] = linalg_polar(to(A));
    return {as_type(u, A.dtype()), as_type(h, A.dtype())};
  }
  check_matrices("linalg.polar", A);
  check(A.size(-2) >= A.size(-1), "linalg.polar: expected at least as many rows as columns, got ", A);
  Tensor u, h;
  {
    NoGradGuard no_grad;
    const auto [left, values, right] = linalg_svd(A, /*full_matrices=*/false);
    u = matmul(left, right);
    h = matmul(right.mH() * values.unsqueeze(-2), right);
  }
  if (auto* node = record_list<PolarBackward>({u, h}, {A})) {
    node->u.save_output(u, 0);
    node->h.save_output(h, 1);
  }
  return {u, h};
}

}  // namespace tandem
