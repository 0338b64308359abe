// rrelu, composed of differentiable operations.
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/random/mersenne_draws.h"

namespace tandem {
namespace {

double mean_slope(const char* operation, const Scalar& lower, const Scalar& upper) {
  const double low = lower.to<double>(), high = upper.to<double>();
  check(low <= high, operation, ": lower must not exceed upper, got ", low, " and ", high);
  return (low + high) / 2;
}

// 1 where positive, else a random slope.
Tensor slopes(const Tensor& self, const Scalar& lower, const Scalar& upper, const optional<Generator>& generator) {
  NoGradGuard no_grad;
  if (autograd::draws_as_pytorch(self.device()))
    return autograd::mersenne_slopes((self <= 0).contiguous(), lower.to<double>(), upper.to<double>(),
                                     generator ? *generator : default_generator())
        .to(self.dtype());
  const Tensor drawn = empty(self.sizes(), self.options()).uniform_(lower.to<double>(), upper.to<double>(), generator);
  return where(self > 0, ones({}, self.options()), drawn);
}

}  // namespace

Tensor rrelu(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
             const optional<Generator>& generator) {
  const double slope = mean_slope("rrelu", lower, upper);
  return training ? self * slopes(self.detach(), lower, upper, generator) : leaky_relu(self, slope);
}
Tensor& rrelu_(const Tensor& self, const Scalar& lower, const Scalar& upper, bool training,
               const optional<Generator>& generator) {
  const double slope = mean_slope("rrelu_", lower, upper);
  return training ? self.mul_(slopes(self.detach(), lower, upper, generator)) : leaky_relu_(self, slope);
}

}  // namespace tandem
