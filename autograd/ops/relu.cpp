// relu(x) = max(x, 0). Gradient: g where the output is positive, else 0.
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/binary_op.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/unary_op.h"

namespace tandem {
namespace {
using namespace autograd;

struct ReluRule {
  using Op = ops::Relu;
  static constexpr const char *name = "relu_", *backward_name = "ReluBackward";
  static constexpr Saves saves = Saves::kOutput;
  // One fused pass; under create_graph the same in differentiable pieces.
  static Tensor gradient(const Tensor& g, const Tensor& y) {
    if (GradMode::is_enabled()) return g * (y > 0).to(g.dtype());
    return gradient_raw<ops::ReluBackward>(g, y);
  }
};

}  // namespace

Tensor relu(const Tensor& self) { return unary<ReluRule>(self); }
Tensor Tensor::relu() const { return tandem::relu(*this); }
Tensor& Tensor::relu_() { return unary_<ReluRule>(*this); }

}  // namespace tandem
