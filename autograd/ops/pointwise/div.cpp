// div: the true quotient. Gradients: g / other, and -g (self / other) / other.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/ternary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct DivRule {
  using Op = ops::Div;
  static constexpr const char *name = "div_", *backward_name = "DivBackward";
  static constexpr Reads da_reads = kB, db_reads = kBoth;
  static ScalarType type(ScalarType promoted) { return float_type(promoted); }
  template <class A, class B>
  static Tensor da(const Tensor& g, const A&, const B& b) {
    return g / conjugate(b);
  }
  template <class A, class B>
  static Tensor db(const Tensor& g, const A& a, const B& b) {
    if constexpr (std::is_same_v<A, Tensor> && std::is_same_v<B, Tensor>)
      if (!GradMode::is_enabled() && !g.is_complex()) return ternary_raw<ops::DivBackward>(g, a, b, g.dtype());
    if constexpr (std::is_same_v<B, Tensor>)
      return -g * conjugate(a / b / b);
    else
      return {};
  }
};

}  // namespace

TANDEM_BINARY(div, DivRule)
Tensor div(const Scalar& self, const Tensor& other) {
  if (const auto to = autocast::full_precision_on_cuda(other))  // as reciprocal
    return div(self, to(other));
  return binary<DivRule>(self, other);
}

}  // namespace tandem
