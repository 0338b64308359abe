// Singular values and vectors, U diag(S) Vᴴ = A. Gradient (Townsend,
// "Differentiating the singular value decomposition", 2016): with skew(X) = X - Xᴴ and E = Sⱼ² - Sᵢ² off the diagonal,
// gA = U (skew(Uᴴ gU) / E S + S skew(Vᴴ gV) / E + diag(gS) + D) Vᴴ + (I - U Uᴴ) gU S⁻¹ Vᴴ + U S⁻¹ gVᴴ (I - V Vᴴ),
// where the quotients are 0 on the diagonal. D is 0 for real matrices. For complex ones, uᵢ and vᵢ have a common phase
// that is arbitrary; of the difference of their phases, the change is Im(uᵢᴴ dA vᵢ) / Sᵢ. With half of it for each
// vector, D = i Im diag(Uᴴ gU - Vᴴ gV) / 2S, and the loss does not depend on the common phase if Im
// diag(Uᴴ gU + Vᴴ gV) = 0.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor skew(const Tensor& x) { return x - x.mH(); }

// D of both products, of which one may be undefined.
Tensor phase_gradient(const Tensor& uu, const Tensor& vv, const Tensor& s) {
  const auto phases = [](const Tensor& x) { return imag(x.diagonal(0, -2, -1)); };
  const Tensor of_u = uu.defined() ? phases(uu) : zeros_like(s), of_v = vv.defined() ? phases(vv) : zeros_like(s);
  check_phases("linalg.svd", "a pair of singular vectors", of_u + of_v);
  const Tensor difference = (of_u - of_v) / (s * 2);
  return complex(zeros_like(s), difference).diag_embed();
}

struct SvdBackward final : NamedNode<SvdBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor s = values.unpack(*this);
    const int64_t k = s.size(-1);
    const Tensor us = u.unpack(*this).narrow(-1, 0, k), vt = vh.unpack(*this).narrow(-2, 0, k);
    Tensor inner =
        g[1].defined() ? g[1].diag_embed().to(us.dtype()) : zeros(matrix_sizes(batch_sizes(us), k, k), us.options());
    const Tensor square = s.square(), unit = identity(s, k);
    const Tensor gap = square.unsqueeze(-2) - square.unsqueeze(-1) + unit, off = 1 - unit;
    Tensor result, uu, vv;
    if (g[0].defined()) {
      const Tensor gu = g[0].narrow(-1, 0, k);
      uu = matmul(us.mH(), gu);
      inner = inner + skew(uu) * off / gap * s.unsqueeze(-2);
      if (us.size(-2) > k) {
        const Tensor scaled = gu / s.unsqueeze(-2);
        result = matmul(scaled - matmul(us, matmul(us.mH(), scaled)), vt);
      }
    }
    if (g[2].defined()) {
      const Tensor gvt = g[2].narrow(-2, 0, k);
      vv = matmul(vt, gvt.mH());
      inner = inner + s.unsqueeze(-1) * (skew(vv) * off / gap);
      if (vt.size(-1) > k) {
        const Tensor scaled = gvt / s.unsqueeze(-1);
        const Tensor rest = matmul(us, scaled - matmul(matmul(scaled, vt.mH()), vt));
        result = result.defined() ? result + rest : rest;
      }
    }
    if (us.is_complex() && (uu.defined() || vv.defined())) inner = inner + phase_gradient(uu, vv, s);
    const Tensor main = matmul(us, matmul(inner, vt));
    out[0] = result.defined() ? main + result : main;
  }
  TANDEM_SAVED(u, values, vh);
};

std::tuple<Tensor, Tensor, Tensor> decompose(const char* operation, const Tensor& a, bool full, bool with_vectors) {
  if (const auto to = autocast::full_precision(a)) return decompose(operation, to(a), full, with_vectors);
  check_matrices(operation, a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_sizes(a);
  Tensor s = empty_real_like_of(a, vector_sizes(batch, k)), info = no_info(a), u, vh;
  if (with_vectors || recording(a)) {
    u = empty_like_of(a, matrix_sizes(batch, m, full ? m : k));
    vh = empty_like_of(a, matrix_sizes(batch, full ? n : k, n));
  }
  if (a.numel() != 0) {
    backend(a).decomposition.svd(u, s, vh, info, a.detach().contiguous());
  } else if (u.defined()) {
    copy_raw(u, identity(a, m, u.size(-1)).expand(u.sizes()));
    copy_raw(vh, identity(a, vh.size(-2), n).expand(vh.sizes()));
  }
  check_info(operation, info, "The algorithm failed to converge because the input matrix contained non-finite values.");
  if (auto* node = record_list<SvdBackward>({u, s, vh}, {a})) {
    node->u.save_output(u, 0);
    node->values.save_output(s, 1);
    node->vh.save_output(vh, 2);
  }
  return {u, s, vh};
}

void check_driver(const char* operation, const optional<std::string_view>& driver) {
  check(!driver, operation, ": driver is a choice of cuSOLVER, which is not used; leave it out");
}

}  // namespace

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices, optional<std::string_view> driver) {
  check_driver("linalg.svd", driver);
  return decompose("linalg.svd", A, full_matrices, true);
}
Tensor linalg_svdvals(const Tensor& A, optional<std::string_view> driver) {
  check_driver("linalg.svdvals", driver);
  return std::get<1>(decompose("linalg.svdvals", A, false, false));
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some, bool compute_uv) {
  if (const auto to = autocast::full_precision(self)) return svd(to(self), some, compute_uv);
  if (!compute_uv) {
    check_matrices("svd", self);
    const Dims batch = batch_sizes(self);
    const int64_t m = self.size(-2), n = self.size(-1);
    return {zeros(matrix_sizes(batch, m, m), self.options()), linalg_svdvals(self),
            zeros(matrix_sizes(batch, n, n), self.options())};
  }
  const auto [u, s, vh] = decompose("svd", self, !some, true);
  return {u, s, vh.mH()};
}

}  // namespace tandem
