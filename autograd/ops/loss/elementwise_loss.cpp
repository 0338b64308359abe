// Elementwise losses, composed of differentiable operations except for binary_cross_entropy: its gradient (x
// - t) / (x (1 - x)), with the divisor clamped to at least 1e-12, is finite where the logarithms are not.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {

using autograd::reduce_loss;

// log x, or log(1 - x), clamped to at least -100. Its derivative avoids 0 times infinity where the logarithm
// is infinite.
Tensor bounded_log(const Tensor& x) {
  const Tensor below = x.detach().log() <= -100;
  return where(below, -100, where(below, 1, x).log());
}
Tensor bounded_log_of_rest(const Tensor& x) {
  const Tensor below = (-x.detach()).log1p() <= -100;
  return where(below, -100, where(below, 0, -x).log1p());
}

// d² where `asked`, else 0: elsewhere d² may be infinite, and its gradient would be 0 times infinity.
Tensor square_where(const Tensor& asked, const Tensor& d) {
  const Tensor safe = where(asked, d, 0);
  return safe * safe;
}

struct BinaryCrossEntropyBackward final : autograd::NamedNode<BinaryCrossEntropyBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), t = target.unpack(*this);
    if (needs(0)) out[0] = g[0] * ((x - t) / ((1 - x) * x).clamp_min(1e-12));
    if (needs(1)) out[1] = g[0] * (bounded_log_of_rest(x) - bounded_log(x));
  }
  TANDEM_SAVED(self, target);
};

struct LogitsCrossEntropyBackward final : autograd::Node {
  const char* label() const override { return "BinaryCrossEntropyWithLogitsBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor z = self.unpack(*this), t = target.unpack(*this);
    const Tensor pos = pos_weight.unpack(*this);
    if (needs(0)) out[0] = g[0] * (pos.defined() ? ((pos - 1) * t + 1) * sigmoid(z) - pos * t : sigmoid(z) - t);
    if (needs(1)) out[1] = pos.defined() ? g[0] * (log_sigmoid(-z) - pos * log_sigmoid(z)) : -g[0] * z;
  }
  TANDEM_SAVED(self, target, pos_weight);
};

void check_same_shape(const char* operation, const Tensor& self, const Tensor& target) {
  check(self.sizes() == target.sizes(), operation, ": shapes differ\n  self   ", self, "\n  target ", target);
  autograd::check_alike(operation, "self  ", self, "target", target);
}

Tensor weighted(const Tensor& terms, const Tensor& weight) { return weight.defined() ? terms * weight : terms; }

}  // namespace

Tensor mse_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(mse_loss(to(self), to(target), reduction));
  autograd::refuse_complex("mse_loss", self, target);
  const Tensor d = self - target;
  return reduce_loss("mse_loss", d * d, reduction);
}

Tensor l1_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(l1_loss(to(self), to(target), reduction));
  return reduce_loss("l1_loss", (self - target).abs(), reduction);
}

Tensor smooth_l1_loss(const Tensor& self, const Tensor& target, Reduction reduction, double beta) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(smooth_l1_loss(to(self), to(target), reduction, beta));
  check(beta >= 0, "smooth_l1_loss: beta must be at least 0, got ", beta);
  if (beta == 0) return l1_loss(self, target, reduction);
  autograd::refuse_complex("smooth_l1_loss", self, target);
  // Squares the difference itself, not its absolute value: abs has no second derivative at 0.
  const Tensor d = self - target, size = d.abs(), near = logical_not(size.detach() >= beta),
               square = square_where(near, d);
  return reduce_loss("smooth_l1_loss", where(near, square * (0.5 / beta), size - 0.5 * beta), reduction);
}

Tensor huber_loss(const Tensor& self, const Tensor& target, Reduction reduction, double delta) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(huber_loss(to(self), to(target), reduction, delta));
  autograd::refuse_complex("huber_loss", self, target);
  check(delta > 0, "huber_loss: delta must be positive, got ", delta);
  const Tensor d = self - target, size = d.abs(), near = logical_not(size.detach() > delta),
               square = square_where(near, d);
  return reduce_loss("huber_loss", where(near, square * 0.5, (size - 0.5 * delta) * delta), reduction);
}

Tensor binary_cross_entropy(const Tensor& self, const Tensor& target, const Tensor& weight, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target, weight))
    return to.rounded(binary_cross_entropy(to(self), to(target), to(weight), reduction));
  if (self.sizes() != target.sizes() && self.squeeze().sizes() == target.squeeze().sizes())
    return binary_cross_entropy(self, target.reshape(self.sizes()), weight, reduction);
  check_same_shape("binary_cross_entropy", self, target);
  const Tensor x = self.detach(), t = target.detach();
  autograd::check_range("binary_cross_entropy", x, 0, 1, "all elements of input should be between 0 and 1");
  autograd::check_range("binary_cross_entropy", t, 0, 1, "all elements of target should be between 0 and 1");
  const Tensor yes = x.log().clamp_min(-100), no = (-x).log1p().clamp_min(-100);
  const Tensor terms = (t - 1) * no - t * yes;
  if (auto* node = autograd::record<BinaryCrossEntropyBackward>(terms, self, target)) {
    node->self.save(self);
    node->target.save(target);
  }
  return reduce_loss("binary_cross_entropy", weighted(terms, weight), reduction);
}

// With z = self and l = 1 + (pos - 1) t: (1 - t) z - l log sigmoid(z). The gradient l sigmoid(z) - pos t
// stays accurate also where 1 - t and l sigmoid(-z) cancel.
Tensor binary_cross_entropy_with_logits(const Tensor& self, const Tensor& target, const Tensor& weight,
                                        const Tensor& pos_weight, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target, weight, pos_weight))
    return to.rounded(binary_cross_entropy_with_logits(to(self), to(target), to(weight), to(pos_weight), reduction));
  check(target.sizes() == self.sizes(), "Target size (", target.sizes(), ") must be the same as input size (",
        self.sizes(), "): binary_cross_entropy_with_logits");
  check_same_shape("binary_cross_entropy_with_logits", self, target);
  const bool composed =
      pos_weight.defined() &&
      (autograd::recording(pos_weight) ||
       broadcast_sizes(self.sizes(), pos_weight.sizes(), "binary_cross_entropy_with_logits") != Dims(self.sizes()));
  const auto constant = [&](const Tensor& x) { return composed || !x.defined() ? x : x.detach(); };
  const Tensor z = constant(self), t = constant(target);
  Tensor yes = log_sigmoid(z);
  if (pos_weight.defined()) yes = yes * ((pos_weight - 1) * t + 1);
  const Tensor terms = (1 - t) * z - yes;
  if (composed) return reduce_loss("binary_cross_entropy_with_logits", weighted(terms, weight), reduction);
  if (auto* node = autograd::record<LogitsCrossEntropyBackward>(terms, self, target)) {
    node->self.save(self);
    node->target.save(target);
    node->pos_weight.save(pos_weight);
  }
  return reduce_loss("binary_cross_entropy_with_logits", weighted(terms, weight), reduction);
}

Tensor kl_div(const Tensor& self, const Tensor& target, Reduction reduction, bool log_target) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(kl_div(to(self), to(target), reduction, log_target));
  autograd::refuse_complex("kl_div", self, target);
  Tensor terms;
  if (log_target) {
    terms = target.exp() * (target - self);
  } else {
    // Uses log 1 where the target is 0, so that neither the value nor the gradient becomes NaN.
    const Tensor nothing = target.detach() == 0, safe = where(nothing, Scalar(1.0), target);
    terms = where(nothing, Scalar(0.0), target * safe.log()) - target * self;
  }
  if (reduction != Reduction::BatchMean) return reduce_loss("kl_div", terms, reduction);
  const Tensor total = terms.sum();
  return self.dim() == 0 ? total : total / static_cast<double>(self.size(0));
}

}  // namespace tandem
