// Further random distributions, by transforming uniform and normal numbers or with the kernels of random counts.
#include "tandem/autograd/ops/random/distributions.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/fill.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/random/mersenne_draws.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/random.h"

namespace tandem {
namespace {
using namespace autograd;

Tensor& write(const Tensor& self, const char* operation, const Tensor& drawn) {
  return overwrite(self, operation, [&](const Tensor& out) { copy_raw(out, drawn); });
}

// Uniform numbers in (0, 1), in float64.
Tensor inside_unit(const Tensor& self, OptionalGenerator generator) {
  const TensorOptions options = self.options().dtype(kDouble);
  return (draws_as_pytorch(self.device()) ? rand_like(self, generator, options)
                                          : rand(self.sizes(), generator, options))
      .clamp_min(Scalar(0x1p-54));
}

Generator::Draw next_draw(OptionalGenerator generator) { return (generator ? *generator : default_generator()).next(); }

// An uninitialised tensor like self, without its history.
Tensor fresh(const Tensor& self) { return empty_like(self.detach()); }

}  // namespace

Tensor uniform(const Tensor& self, double from, double to, OptionalGenerator generator) {
  return fresh(self).uniform_(from, to, generator);
}
Tensor exponential(const Tensor& self, double lambd, OptionalGenerator generator) {
  return fresh(self).exponential_(lambd, generator);
}

Tensor& cauchy_(Tensor& self, double median, double sigma, OptionalGenerator generator) {
  check_floating_point("cauchy_", self);
  check(sigma > 0, "cauchy_: expected sigma > 0, got ", sigma);
  return write(self, "cauchy_", ((inside_unit(self, generator) - 0.5) * std::numbers::pi).tan() * sigma + median);
}
Tensor cauchy(const Tensor& self, double median, double sigma, OptionalGenerator generator) {
  return fresh(self).cauchy_(median, sigma, generator);
}

Tensor& log_normal_(Tensor& self, double mean, double std, OptionalGenerator generator) {
  check_floating_point("log_normal_", self);
  check(std > 0, "log_normal_: expected a standard deviation > 0, got ", std);
  if (draws_as_pytorch(self.device())) {
    const Tensor drawn = empty_in_order(self, self.options().dtype(kDouble).requires_grad(false));
    mersenne_fill<ops::Normal>(drawn, generator ? *generator : default_generator(), {.a = mean, .b = std, .base = 1});
    return write(self, "log_normal_", drawn.exp());
  }
  return write(self, "log_normal_", normal(mean, std, self.sizes(), generator, self.options().dtype(kDouble)).exp());
}
Tensor log_normal(const Tensor& self, double mean, double std, OptionalGenerator generator) {
  return fresh(self).log_normal_(mean, std, generator);
}

Tensor& geometric_(Tensor& self, double p, OptionalGenerator generator) {
  check(p > 0 && p < 1, "geometric_: p must be in (0, 1), got ", p);
  check(self.dtype() != kBool, "geometric_: expected a number type, got ", self);
  const Tensor trials = (inside_unit(self, generator).log() / std::log1p(-p)).ceil().clamp_min(Scalar(1));
  return write(self, "geometric_", trials);
}
Tensor geometric(const Tensor& self, double p, OptionalGenerator generator) {
  return fresh(self).geometric_(p, generator);
}

Tensor random(const Tensor& self, int64_t from, optional<int64_t> to, OptionalGenerator generator) {
  return fresh(self).random_(from, to, generator);
}
Tensor random(const Tensor& self, int64_t to, OptionalGenerator generator) {
  return fresh(self).random_(to, generator);
}
Tensor random(const Tensor& self, OptionalGenerator generator) { return fresh(self).random_(generator); }

Tensor poisson(const Tensor& self, OptionalGenerator generator) {
  check_floating_point("poisson", self);
  const Tensor rates = self.detach().to(kDouble).contiguous();
  check_range("poisson", rates, 0, std::numeric_limits<double>::max(), "rates must be finite and not negative");
  Tensor drawn;
  if (draws_as_pytorch(self.device())) {
    drawn = mersenne_poisson(rates, generator ? *generator : default_generator());
  } else {
    drawn = empty_raw(self.sizes(), kDouble, self.device());
    backend(self).random.poisson(drawn, rates, next_draw(generator));
  }
  Tensor out = self.dtype() == kDouble ? drawn : drawn.to(self.dtype());
  if (auto* node = record<ZeroBackward>(out, self)) node->set(self);
  return out;
}

Tensor binomial(const Tensor& count, const Tensor& prob, OptionalGenerator generator) {
  check_floating_point("binomial", count);
  check(count.dtype() == prob.dtype(), "binomial: dtypes differ\n  count ", count, "\n  prob  ", prob);
  check_same_device("binomial", count, prob);
  const Dims sizes = broadcast_sizes(count.sizes(), prob.sizes(), "binomial");
  const Tensor counts = count.detach().expand(sizes).to(kDouble).contiguous(),
               probabilities = prob.detach().expand(sizes).to(kDouble).contiguous();
  Tensor drawn;
  if (draws_as_pytorch(count.device())) {
    drawn = mersenne_binomial(counts, probabilities, generator ? *generator : default_generator());
  } else {
    drawn = empty_raw(sizes, kDouble, count.device());
    backend(count).random.binomial(drawn, counts, probabilities, next_draw(generator));
  }
  Tensor out = count.dtype() == kDouble ? drawn : drawn.to(count.dtype());
  const Tensor from = prob.requires_grad() ? prob.expand(sizes) : count.expand(sizes);
  if (auto* node = record<ZeroBackward>(out, from)) node->set(from);
  return out;
}

Tensor& Tensor::cauchy_(double median, double sigma, optional<Generator> generator) const {
  return tandem::cauchy_(tandem::detail::mutable_handle(*this), median, sigma, generator);
}
Tensor& Tensor::log_normal_(double mean, double std, optional<Generator> generator) const {
  return tandem::log_normal_(tandem::detail::mutable_handle(*this), mean, std, generator);
}
Tensor& Tensor::geometric_(double p, optional<Generator> generator) const {
  return tandem::geometric_(tandem::detail::mutable_handle(*this), p, generator);
}

namespace {
// Logarithms of gamma variables, in float64: those of small shapes are too small for the variables themselves.
Tensor log_gamma_draws(const char* operation, const Tensor& self, OptionalGenerator generator) {
  check_floating_point(operation, self);
  NoGradGuard no_grad;
  const Tensor shape = self.detach().to(kDouble);
  check_range(operation, shape, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
              "expected finite numbers > 0");
  // A shape below 1 is raised by 1; a power of a uniform number corrects that.
  const Tensor small = shape.lt(1), d = shape + small.to(kDouble) - 1.0 / 3, c = (d * 9).rsqrt();
  // On CUDA, the error may be thrown in another thread.
  Tensor out = zeros_like(shape), waiting = shape.gt(0).logical_and(shape.isfinite());
  while (waiting.any().item().toBool()) {
    const Tensor x = randn(shape.sizes(), generator, shape.options()), root = c * x + 1;
    const Tensor log_v = root.clamp_min(0).log() * 3, v = log_v.exp();
    const Tensor accepted = inside_unit(shape, generator).log().lt(x * x / 2 + d * (1 - v + log_v));
    const Tensor now = accepted.logical_and(root.gt(0)).logical_and(waiting);
    out = where(now, d.log() + log_v, out);
    waiting = waiting.logical_and(now.logical_not());
  }
  return where(small, out + inside_unit(shape, generator).log() / shape, out);
}

// The same in GeneratorMode::kPyTorch, the variables themselves; of half types by way of float32.
Tensor gamma_as_pytorch(const char* operation, const Tensor& self, ScalarType type, OptionalGenerator generator) {
  check_floating_point(operation, self);
  const Tensor shapes = self.detach().to(type).contiguous();
  check_range(operation, shapes, std::numeric_limits<double>::denorm_min(), std::numeric_limits<double>::max(),
              "expected finite numbers > 0");
  return mersenne_gamma(shapes, generator ? *generator : default_generator());
}
}  // namespace

Tensor _standard_gamma(const Tensor& self, OptionalGenerator generator) {
  if (draws_as_pytorch(self.device()))
    return gamma_as_pytorch("_standard_gamma", self, self.dtype() == kDouble ? kDouble : kFloat, generator)
        .to(self.scalar_type());
  return log_gamma_draws("_standard_gamma", self, generator).exp().to(self.scalar_type());
}
Tensor _sample_dirichlet(const Tensor& self, OptionalGenerator generator) {
  check(self.dim() > 0, "_sample_dirichlet: expected at least one dimension, got ", self);
  if (draws_as_pytorch(self.device())) {
    const Tensor drawn = gamma_as_pytorch("_sample_dirichlet", self, kDouble, generator);
    return (drawn / drawn.sum(IntArrayRef(-1), true)).to(self.scalar_type());
  }
  return log_gamma_draws("_sample_dirichlet", self, generator).softmax(-1).to(self.scalar_type());
}

}  // namespace tandem
