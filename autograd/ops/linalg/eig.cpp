// Eigenvalues and eigenvectors of general matrices, A V = V diag(L), which are complex. Gradient (Boeddeker et al., "On
// the computation of complex-valued gradients with application to statistically optimum beamforming", 2017; columns of
// length 1):
//
//   gA = V⁻ᴴ (diag(gL) + (Vᴴ gV - Vᴴ V diag(Re Vᴴ gV)) / E) Vᴴ
//
// with E = conj(Lⱼ - Lᵢ) off the diagonal, where the quotient is 0 on it. The gradient of a real A is the real part.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/decomposition.h"

namespace tandem {
namespace {
using namespace autograd;

struct EigBackward final : NamedNode<EigBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor v = vectors.unpack(*this), l = values.unpack(*this), vh = v.mH();
    Tensor gradient;
    if (g[1].defined()) {
      const Tensor product = matmul(vh, g[1]), diagonal = product.diagonal(0, -2, -1);
      // Of every vector v the imaginary part of vᴴ gV is the derivative by its phase.
      check_phases("linalg.eig", "an eigenvector", imag(diagonal));
      const Tensor unit = identity(v, v.size(-1)), gap = conj(l.unsqueeze(-2) - l.unsqueeze(-1)) + unit;
      Tensor inner = (product - matmul(vh, v * real(diagonal).unsqueeze(-2))) / gap * (1 - unit);
      if (g[0].defined()) inner = inner + g[0].diag_embed();
      gradient = linalg_solve(vh, matmul(inner, vh));
    } else {
      gradient = linalg_solve(vh, g[0].unsqueeze(-1) * vh);
    }
    out[0] = of_real ? real(gradient) : gradient;
  }
  TANDEM_SAVED(values, vectors);
  bool of_real = true;
};

std::tuple<Tensor, Tensor> spectrum(const char* operation, const Tensor& a, bool with_vectors) {
  if (const auto to = autocast::full_precision(a)) return spectrum(operation, to(a), with_vectors);
  check_square(operation, a);
  const ScalarType type = toComplexType(a.scalar_type());
  Tensor values = empty_raw(vector_sizes(batch_sizes(a), a.size(-1)), type, a.device()), info = no_info(a);
  Tensor vectors = with_vectors || recording(a) ? empty_raw(a.sizes(), type, a.device()) : Tensor();
  if (a.numel() != 0) backend(a).decomposition.eig(values, vectors, info, a.detach().contiguous());
  check_info(operation, info, "The matrix is not finite, or the algorithm failed to converge.");
  if (auto* node = record_list<EigBackward>({values, vectors}, {a})) {
    node->values.save_output(values, 0);
    node->vectors.save_output(vectors, 1);
    node->of_real = !a.is_complex();
  }
  return {values, vectors};
}

}  // namespace

std::tuple<Tensor, Tensor> linalg_eig(const Tensor& self) { return spectrum("linalg.eig", self, true); }
Tensor linalg_eigvals(const Tensor& self) { return std::get<0>(spectrum("linalg.eigvals", self, false)); }

}  // namespace tandem
