// Losses element by element, composed of differentiable operations but for binary_cross_entropy: its gradient
// (x - t) / (x (1 - x)), the divisor not below 1e-12, is finite where the logarithms are not.
#include "tandem/autograd/ops/activation.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/ops/loss.h"
#include "tandem/autograd/ops/reduce.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/where.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {

using autograd::reduce_loss;

// log x, not below -100; differentiable without 0 times infinity where x is 0.
Tensor bounded_log(const Tensor& x) {
  const Tensor below = x.detach().log() <= -100;
  return where(below, -100, where(below, 1, x).log());
}

struct BinaryCrossEntropyBackward final : autograd::Node {
  const char* name() const override { return "BinaryCrossEntropyBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), t = target.unpack(*this);
    if (needs(0)) out[0] = g[0] * ((x - t) / ((1 - x) * x).clamp_min(1e-12));
    if (needs(1)) out[1] = g[0] * (bounded_log(1 - x) - bounded_log(x));
  }
  void release() override {
    self.release();
    target.release();
  }
  autograd::SavedTensor self, target;
};

void check_same_shape(const char* operation, const Tensor& self, const Tensor& target) {
  check(self.sizes() == target.sizes(), operation, ": shapes differ\n  self   ", self, "\n  target ", target);
  autograd::check_alike(operation, "self  ", self, "target", target);
}

Tensor weighted(const Tensor& terms, const Tensor& weight) {
  return weight.defined() ? terms * weight : terms;
}

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  const Tensor d = self - target;
  return reduce_loss("mse_loss", d * d, reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  return reduce_loss("l1_loss", (self - target).abs(), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction, double beta) {
  check(beta >= 0, "smooth_l1_loss: beta has to be at least 0, got ", beta);
  if (beta == 0) return l1_loss(self, target, reduction);
  // The square is of the difference, not of its size: abs has no second derivative at 0.
  const Tensor d = self - target, size = d.abs();
  return reduce_loss("smooth_l1_loss", where(size < beta, d * d * (0.5 / beta), size - 0.5 * beta),
                     reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction, double delta) {
  check(delta > 0, "huber_loss: delta has to be positive, got ", delta);
  const Tensor d = self - target, size = d.abs();
  return reduce_loss("huber_loss", where(size <= delta, d * d * 0.5, (size - 0.5 * delta) * delta),
                     reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight,
                            Reduction reduction) {
  check_same_shape("binary_cross_entropy", self, target);
  const Tensor x = self.detach(), t = target.detach();
  const Tensor yes = x.log().clamp_min(-100), no = (1 - x).log().clamp_min(-100);
  const Tensor terms = (t - 1) * no - t * yes;
  if (auto* node = autograd::record<BinaryCrossEntropyBackward>(terms, self, target)) {
    node->self.save(self);
    node->target.save(target);
  }
  return reduce_loss("binary_cross_entropy", weighted(terms, weight), reduction);
}

// With z = self: (1 - t) z - (1 + (pos - 1) t) log sigmoid(z).
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Reduction reduction) {
  check_same_shape("binary_cross_entropy_with_logits", self, target);
  Tensor yes = log_sigmoid(self);
  if (pos_weight.defined()) yes = yes * ((pos_weight - 1) * target + 1);
  return reduce_loss("binary_cross_entropy_with_logits", weighted((1 - target) * self - yes, weight),
                     reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction, bool log_target) {
  Tensor terms;
  if (log_target) {
    terms = target.exp() * (target - self);
  } else {
    // log 1 stands in where the target is 0: neither value nor gradient then holds NaN.
    const Tensor safe = where(target > 0, target, Scalar(1.0));
    terms = where(target > 0, target * safe.log(), Scalar(0.0)) - target * self;
  }
  if (reduction != Reduction::BatchMean) return reduce_loss("kl_div", terms, reduction);
  const Tensor total = terms.sum();
  return self.dim() == 0 ? total : total / static_cast<double>(self.size(0));
}

}  // namespace tandem
