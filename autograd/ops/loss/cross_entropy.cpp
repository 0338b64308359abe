// cross_entropy_loss. With classes, forward and backward are one fused kernel each; the gradient is
// (softmax(x) sum of t - t) g, where t is the smoothed and weighted target (see core/backend/loss.h).
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/nn/softmax.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/loss.h"

#include <limits>

namespace tandem {
namespace {
using namespace autograd;

struct CrossEntropyBackward final : Node {
  const char* label() const override { return "CrossEntropyBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = scores.unpack(*this), grad = g[0].contiguous();
    if (GradMode::is_enabled())
      out[0] = differentiable(x, grad);
    else
      out[0] = fused(x, grad, norms.unpack(*this), loss);
  }
  void release() override {
    scores.release();
    norms.release();
    total_weight.release();
  }

  Tensor fused(const Tensor& x, const Tensor& grad, const Tensor& with, const ClassLoss& how) const {
    Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
    backend(x).loss.cross_entropy_backward(reshaped(out, in.scores3), grad, with, total_weight.unpack(*this),
                                           reshaped(x, in.scores3), reshaped(in.target, in.targets2), in.weight, how);
    return out;
  }

  // The same, composed of differentiable operations. t does not depend on x. It is the part the kernel
  // subtracts, computed here by making all exponentials vanish.
  Tensor differentiable(const Tensor& x, const Tensor& grad) const {
    ClassLoss summed = loss;
    summed.reduction = ReductionKind::kSum;
    const double infinity = std::numeric_limits<double>::infinity();
    const Tensor vanish = full({2, in.targets2[0], in.targets2[1]}, infinity, x.options());
    vanish.as_strided({in.targets2[0], in.targets2[1]}, {in.targets2[1], 1}).fill_(0);
    const Tensor minus_t = fused(x.detach(), ones({}, x.options()), vanish, summed);
    const int64_t d = x.dim() == 1 ? 0 : 1;
    Tensor factor = grad;
    if (loss.reduction == ReductionKind::kMean) {
      const Tensor total = total_weight.unpack(*this);
      factor = grad / (total + indicator(total, 0));  // the gradient is 0 when all targets are ignored
    }
    if (loss.reduction == ReductionKind::kNone) {
      Dims sizes(x.sizes());
      sizes[static_cast<std::size_t>(d)] = 1;
      factor = grad.view(sizes);
    }
    return (minus_t - softmax(x, d) * minus_t.sum({d}, true)) * factor;
  }

  ClassInputs in;  // without the scores
  ClassLoss loss;
  SavedTensor scores, norms, total_weight;
};

Tensor class_targets(const Tensor& self, const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  ClassInputs in = class_inputs("cross_entropy", self, target, weight);
  const Tensor& x = in.scores;
  const bool each = loss.reduction == ReductionKind::kNone;
  Tensor out = empty_raw(each ? IntArrayRef(in.terms) : IntArrayRef(), x.dtype(), x.device());
  const Tensor norms = empty_raw({2, in.targets2[0], in.targets2[1]}, x.dtype(), x.device());
  const Tensor total = empty_raw({}, x.dtype(), x.device());
  backend(x).loss.cross_entropy(out, norms, total, reshaped(x, in.scores3), reshaped(in.target, in.targets2), in.weight,
                                loss);
  if (auto* node = record<CrossEntropyBackward>(out, x)) {
    node->scores.save(x);
    node->norms.save(norms);
    node->total_weight.save(total);
    node->loss = loss;
    node->in = std::move(in);
    node->in.scores.reset();
  }
  return out;
}

Tensor probability_targets(const Tensor& self, const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  check_alike("cross_entropy", "scores", self, "target", target);
  const int64_t d = self.dim() == 1 ? 0 : 1, classes = self.size(d);
  Tensor t = target;
  if (loss.label_smoothing > 0)
    t = target * (1 - loss.label_smoothing) + loss.label_smoothing / static_cast<double>(classes);
  if (weight.defined()) {
    check(weight.dim() == 1 && weight.size(0) == classes, "cross_entropy: weight must be [", classes, "]\n  scores ",
          self, "\n  weight ", weight);
    check_alike("cross_entropy", "scores", self, "weight", weight);
    Dims sizes(self.sizes().size(), 1);
    sizes[static_cast<std::size_t>(d)] = classes;
    t = t * weight.detach().reshape(sizes);
  }
  const Tensor terms = (log_softmax(self, d) * t).sum({d}).neg();
  if (loss.reduction == ReductionKind::kMean && classes == 0) return terms.sum() / 0.0;  // the mean of zero terms
  return reduce_loss("cross_entropy", terms, loss.reduction);
}

}  // namespace

Tensor cross_entropy_loss(const Tensor& self, const Tensor& target, const Tensor& weight, Reduction reduction,
                          int64_t ignore_index, double label_smoothing) {
  if (const auto to = autograd::in_full_precision(self, target, weight))
    return to.rounded(cross_entropy_loss(to(self), to(target), to(weight), reduction, ignore_index, label_smoothing));
  check(label_smoothing >= 0 && label_smoothing <= 1, "cross_entropy: label_smoothing must be in [0, 1], got ",
        label_smoothing);
  check(reduction != Reduction::BatchMean, "cross_entropy: reduction kBatchMean is only supported by kl_div");
  const ClassLoss loss{reduction.kind(), ignore_index, label_smoothing};
  if (self.dim() >= 1 && self.sizes() == target.sizes() && target.is_floating_point())
    return probability_targets(self, target, weight, loss);
  return class_targets(self, target, weight, loss);
}

}  // namespace tandem
