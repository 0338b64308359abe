// QR decompositions by Householder reflectors.
//
// Gradient for Q R = A with linearly independent first columns (Roberts and Roberts, "QR and LQ decomposition matrix
// backpropagation algorithms", 2020): with M = R gRᴴ - gQᴴ Q and the Hermitian S of M's lower triangle, of whose
// diagonal only the real part counts, because R's is real, gA = (gQ + Q S) R⁻ᴴ. If A = [X Y] has more columns, Q R₁ = X
// and R₂ = Qᴴ Y: gQ gains Y gR₂ᴴ, and gY = Q gR₂.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

// Of a square R, or of the first columns.
Tensor square_gradient(const Tensor& q, const Tensor& r, const Tensor& gq, const Tensor& gr) {
  const Tensor m = matmul(r, gr.mH()) - matmul(gq.mH(), q);
  const Tensor half = (m.tril() + m.tril(-1)) * 0.5;
  return linalg_solve_triangular(r.mH(), gq + matmul(q, half + half.mH()), /*upper=*/false, /*left=*/false);
}

struct QrBackward final : NamedNode<QrBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor qs = q.unpack(*this), rs = r.unpack(*this);
    const Tensor gq = g[0].defined() ? g[0] : zeros(qs.sizes(), qs.options());
    const Tensor gr = g[1].defined() ? g[1] : zeros(rs.sizes(), rs.options());
    const int64_t m = qs.size(-2), n = rs.size(-1);
    if (m >= n) {
      out[0] = square_gradient(qs, rs, gq, gr);
      return;
    }
    const Tensor y = a.unpack(*this).narrow(-1, m, n - m), gr2 = gr.narrow(-1, m, n - m);
    const Tensor first = square_gradient(qs, rs.narrow(-1, 0, m), gq + matmul(y, gr2.mH()), gr.narrow(-1, 0, m));
    out[0] = cat({first, matmul(qs, gr2)}, -1);
  }
  TANDEM_SAVED(a, q, r);
};

struct Reflectors {
  Tensor qr, tau;
};
Reflectors reflectors_of(const Tensor& a) {
  const int64_t k = std::min(a.size(-2), a.size(-1));
  const Reflectors out{empty_like_of(a, a.sizes()), empty_like_of(a, vector_sizes(batch_sizes(a), k))};
  if (a.numel() != 0) backend(a).decomposition.geqrf(out.qr, out.tau, a.detach().contiguous());
  return out;
}

// The first `columns` columns of H₁ … Hₖ.
Tensor product_of(const Tensor& input, const Tensor& tau, int64_t columns) {
  const int64_t m = input.size(-2), k = tau.size(-1);
  if (!recording(input, tau)) {
    const Dims sizes = matrix_sizes(batch_sizes(input), m, columns);
    if (k == 0 || input.numel() == 0 || columns == 0) return identity(input, m, columns).expand(sizes).clone();
    Tensor q = empty_like_of(input, sizes);
    backend(input).decomposition.householder_product(q, input.contiguous(), tau.contiguous());
    return q;
  }
  // One reflector after the other, as differentiable operations.
  const Tensor unit = identity(input, m), below = input.tril(-1);
  Tensor q = identity(input, m, columns);
  for (int64_t i = k; i-- > 0;) {
    const Tensor v = below.narrow(-1, i, 1) + unit.narrow(-1, i, 1);
    q = q - tau.narrow(-1, i, 1).unsqueeze(-1) * matmul(v, matmul(v.mH(), q));
  }
  return q.expand(matrix_sizes(batch_sizes(input), m, columns));
}

void check_reflectors(const char* operation, const Tensor& input, const Tensor& tau) {
  check_matrices(operation, input);
  check_alike(operation, "input", input, "tau  ", tau);
  check(input.size(-2) >= input.size(-1), operation, ": expected at least as many rows as columns, got ", input);
  check(tau.dim() + 1 == input.dim() && tau.size(-1) <= input.size(-1) &&
            tau.sizes().slice(0, tau.sizes().size() - 1) == IntArrayRef(batch_sizes(input)),
        operation, ": expected tau [batch, k], k at most the number of columns\n  input ", input, "\n  tau   ", tau);
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_qr(const Tensor& A, std::string_view mode) {
  if (const auto to = autocast::full_precision(A)) return linalg_qr(to(A), mode);
  check_matrices("linalg.qr", A);
  check(mode == "reduced" || mode == "complete" || mode == "r",
        "linalg.qr: mode must be 'reduced', 'complete' or 'r', got '", mode, "'");
  const int64_t m = A.size(-2), n = A.size(-1), k = std::min(m, n);
  const Reflectors f = reflectors_of(A);
  if (mode == "r") {
    check(!recording(A), "linalg.qr: mode 'r' has no gradient, because Q is not computed; use 'reduced'");
    return {empty_like_of(A, {0}), f.qr.narrow(-2, 0, k).triu()};
  }
  const bool complete = mode == "complete";
  check(!complete || m <= n || !recording(A),
        "linalg.qr: mode 'complete' has no gradient for more rows than columns; use 'reduced'\n  A ", A);
  Tensor q = product_of(f.qr, f.tau, complete ? m : k), r = f.qr.triu();
  if (!complete) r = r.narrow(-2, 0, k).contiguous();
  if (auto* node = record_list<QrBackward>({q, r}, {A})) {
    if (m < n) node->a.save(A);
    node->q.save_output(q, 0);
    node->r.save_output(r, 1);
  }
  return {q, r};
}

std::tuple<Tensor, Tensor> geqrf(const Tensor& self) {
  if (const auto to = autocast::full_precision(self)) return geqrf(to(self));
  check_matrices("geqrf", self);
  check(!recording(self), "geqrf: has no gradient; use linalg_qr");
  const Reflectors f = reflectors_of(self);
  return {f.qr, f.tau};
}

Tensor linalg_householder_product(const Tensor& input, const Tensor& tau) {
  if (const auto to = autocast::full_precision(input)) return linalg_householder_product(to(input), to(tau));
  check_reflectors("linalg.householder_product", input, tau);
  return product_of(input, tau, input.size(-1));
}

Tensor ormqr(const Tensor& self, const Tensor& input2, const Tensor& input3, bool left, bool transpose) {
  if (const auto to = autocast::full_precision(self)) return ormqr(to(self), to(input2), to(input3), left, transpose);
  check_matrices("ormqr", self);
  check_alike("ormqr", "self ", self, "other", input3);
  const int64_t m = self.size(-2);
  check(input3.dim() >= 2 && input3.size(left ? -2 : -1) == m, "ormqr: other must have ", m,
        left ? " rows" : " columns", "\n  self  ", self, "\n  other ", input3);
  check(input2.dim() + 1 == self.dim() && input2.size(-1) <= std::min(m, self.size(-1)),
        "ormqr: expected tau [batch, k], k at most the sizes of self\n  self ", self, "\n  tau  ", input2);
  const Tensor q = product_of(self, input2, m), factor = transpose ? q.mH() : q;
  return left ? matmul(factor, input3) : matmul(input3, factor);
}

}  // namespace tandem
