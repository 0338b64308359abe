// relu(x) = max(x, 0). Gradient: 0 where the output is 0, else g (NaN too).
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/unary_op.h"
#include "tandem/autograd/ops/where.h"

namespace tandem {
namespace {
using namespace autograd;

struct ReluRule {
  using Op = ops::Relu;
  static constexpr const char *name = "relu_", *backward_name = "ReluBackward";
  static constexpr Saves saves = Saves::kOutput;
  static Tensor gradient(const Tensor& g, const Tensor& y) { return where(y <= 0, 0, g); }
};

}  // namespace

Tensor relu(const Tensor& self) { return unary<ReluRule>(self); }
Tensor& relu_(Tensor& self) { return self.relu_(); }
Tensor Tensor::relu() const { return tandem::relu(*this); }
Tensor& Tensor::relu_() { return unary_<ReluRule>(*this); }

}  // namespace tandem
