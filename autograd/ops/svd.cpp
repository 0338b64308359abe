// Singular values and vectors, U diag(S) Vᵀ = A. Gradient (Townsend, "Differentiating the singular value decomposition",
// 2016): with skew(X) = X - Xᵀ and E = Sⱼ² - Sᵢ² off the diagonal,
// gA = U (skew(Uᵀ gU) / E S + S skew(Vᵀ gV) / E + diag(gS)) Vᵀ + (I - U Uᵀ) gU S⁻¹ Vᵀ + U S⁻¹ gVᵀ (I - V Vᵀ).
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/decomposition_op.h"
#include "tandem/autograd/ops/diag.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/ops/linalg_functions.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor skew(const Tensor& x) { return x - x.mT(); }

struct SvdBackward final : Node {
  const char* name() const override { return "SvdBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor s = values.unpack(*this);
    const int64_t k = s.size(-1);
    const Tensor us = u.unpack(*this).narrow(-1, 0, k), vt = vh.unpack(*this).narrow(-2, 0, k);
    Tensor inner =
        g[1].defined() ? g[1].diag_embed() : zeros(matrix_sizes(batch_sizes(us), k, k), s.options());
    const Tensor square = s.square(), unit = identity(s, k);
    const Tensor gap = square.unsqueeze(-2) - square.unsqueeze(-1) + unit;
    Tensor result;
    if (g[0].defined()) {
      const Tensor gu = g[0].narrow(-1, 0, k);
      inner = inner + skew(matmul(us.mT(), gu)) / gap * s.unsqueeze(-2);
      if (us.size(-2) > k) {
        const Tensor scaled = gu / s.unsqueeze(-2);
        result = matmul(scaled - matmul(us, matmul(us.mT(), scaled)), vt);
      }
    }
    if (g[2].defined()) {
      const Tensor gvt = g[2].narrow(-2, 0, k);
      inner = inner + s.unsqueeze(-1) * (skew(matmul(vt, gvt.mT())) / gap);
      if (vt.size(-1) > k) {
        const Tensor scaled = gvt / s.unsqueeze(-1);
        const Tensor rest = matmul(us, scaled - matmul(matmul(scaled, vt.mT()), vt));
        result = result.defined() ? result + rest : rest;
      }
    }
    const Tensor main = matmul(us, matmul(inner, vt));
    out[0] = result.defined() ? main + result : main;
  }
  void release() override {
    u.release();
    values.release();
    vh.release();
  }
  SavedTensor u, values, vh;
};

std::tuple<Tensor, Tensor, Tensor> decompose(const char* operation, const Tensor& a, bool full,
                                             bool with_vectors) {
  check_matrices(operation, a);
  const int64_t m = a.size(-2), n = a.size(-1), k = std::min(m, n);
  const Dims batch = batch_sizes(a);
  Tensor s = empty_like_of(a, vector_sizes(batch, k)), info = no_info(a), u, vh;
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
  check_info(operation, info,
             "The algorithm failed to converge because the input matrix contained non-finite values.");
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

std::tuple<Tensor, Tensor, Tensor> linalg_svd(const Tensor& A, bool full_matrices,
                                              optional<std::string_view> driver) {
  check_driver("linalg.svd", driver);
  return decompose("linalg.svd", A, full_matrices, true);
}
Tensor linalg_svdvals(const Tensor& A, optional<std::string_view> driver) {
  check_driver("linalg.svdvals", driver);
  return std::get<1>(decompose("linalg.svdvals", A, false, false));
}
std::tuple<Tensor, Tensor, Tensor> svd(const Tensor& self, bool some, bool compute_uv) {
  if (!compute_uv) {
    check_matrices("svd", self);
    const Dims batch = batch_sizes(self);
    const int64_t m = self.size(-2), n = self.size(-1);
    return {zeros(matrix_sizes(batch, m, m), self.options()), linalg_svdvals(self),
            zeros(matrix_sizes(batch, n, n), self.options())};
  }
  const auto [u, s, vh] = decompose("svd", self, !some, true);
  return {u, s, vh.mT()};
}

}  // namespace tandem
