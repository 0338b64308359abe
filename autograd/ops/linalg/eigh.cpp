// Eigenvalues and eigenvectors of symmetric or Hermitian matrices, A V = V diag(L). Gradient (Giles, "Collected matrix
// derivative results", 2008): gA = V (diag(gL) + (Vᴴ gV) / E) Vᴴ with E = Lⱼ - Lᵢ off the diagonal, where the quotient
// is 0 on it: a real Vᴴ gV has a diagonal that no change of A reaches, and that of a complex one is the derivative by
// the phases.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

struct EighBackward final : NamedNode<EighBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor v = vectors.unpack(*this), l = values.unpack(*this);
    if (!g[1].defined()) {
      out[0] = matmul(v * g[0].unsqueeze(-2), v.mH());
      return;
    }
    const Tensor unit = identity(l, v.size(-1)), gap = l.unsqueeze(-2) - l.unsqueeze(-1) + unit;
    const Tensor product = matmul(v.mH(), g[1]);
    if (v.is_complex()) check_phases("linalg.eigh", "an eigenvector", imag(product.diagonal(0, -2, -1)));
    Tensor inner = product / gap * (1 - unit);
    if (g[0].defined()) inner = inner + g[0].diag_embed();
    out[0] = matmul(v, matmul(inner, v.mH()));
  }
  TANDEM_SAVED(values, vectors);
};

std::tuple<Tensor, Tensor> spectrum(const char* operation, const Tensor& a, std::string_view uplo, bool with_vectors) {
  if (const auto to = autocast::full_precision(a)) return spectrum(operation, to(a), uplo, with_vectors);
  check_square(operation, a);
  check(uplo == "L" || uplo == "U" || uplo == "l" || uplo == "u", operation, ": UPLO must be 'L' or 'U', got '", uplo,
        "'");
  Tensor values = empty_real_like_of(a, vector_sizes(batch_sizes(a), a.size(-1))), info = no_info(a);
  Tensor vectors = with_vectors || recording(a) ? empty_like_of(a, a.sizes()) : Tensor();
  const Tensor lower = uplo == "U" || uplo == "u" ? a.detach().mH() : a.detach();
  if (a.numel() != 0) backend(a).decomposition.eigh(values, vectors, info, lower.contiguous());
  check_info(operation, info,
             "The algorithm failed to converge because the input matrix is ill-conditioned or not finite.");
  if (auto* node = record_list<EighBackward>({values, vectors}, {a})) {
    node->values.save_output(values, 0);
    node->vectors.save_output(vectors, 1);
  }
  return {values, vectors};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eigh(const Tensor& self, std::string_view UPLO) {
  return spectrum("linalg.eigh", self, UPLO, true);
}
Tensor linalg_eigvalsh(const Tensor& self, std::string_view UPLO) {
  return std::get<0>(spectrum("linalg.eigvalsh", self, UPLO, false));
}

}  // namespace tandem
