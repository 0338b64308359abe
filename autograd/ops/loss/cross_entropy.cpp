// cross_entropy_loss. With classes, forward and backward are one fused kernel each; the gradient is
// (softmax(x) sum of t - t) g, where t is the smoothed and weighted target (see core/backend/loss.h). Scores of a half
// type go into the kernels as they are: float32 copies of them and of their gradient would be most of the memory of a
// step with a large vocabulary.
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
#include "tandem/core/backend/linalg.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/reproducible.h"

#include <limits>

namespace tandem {
namespace {
using namespace autograd;

// Uninitialised. The gradient of many scores is most often an operand of the products of the last layer, which want
// aligned rows. In strict mode it lies as on the CPU: sums of it have an order that depends on that.
Tensor gradient_of(const Tensor& x) {
  constexpr int64_t kMany = int64_t{1} << 20;
  const int64_t step = backend(x).linalg.row_bytes / x.element_size();
  if (step <= 1 || reproducible() == Reproducible::kStrict || !isReducedFloatingType(x.scalar_type()) || x.dim() != 2 ||
      x.numel() < kMany || x.size(1) % step == 0)
    return empty_raw(x.sizes(), x.dtype(), x.device());
  const int64_t row = (x.size(1) / step + 1) * step;
  return alias(empty_raw({x.size(0), row}, x.dtype(), x.device()), x.sizes(), {row, 1}, 0);
}

struct CrossEntropyBackward final : NamedNode<CrossEntropyBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = scores.unpack(*this), grad = g[0].contiguous();
    if (GradMode::is_enabled())
      out[0] = differentiable(widened(x), grad).to(x.scalar_type());
    else
      out[0] = fused(x, grad, norms.unpack(*this), loss);
  }

  Tensor fused(const Tensor& x, const Tensor& grad, const Tensor& with, const ClassLoss& how) const {
    Tensor out = gradient_of(x);
    Dims strides = contiguous_strides(in.scores3);
    if (x.dim() == 2) strides[0] = out.stride(0);
    backend(x).loss.cross_entropy_backward(alias(out, in.scores3, strides, 0), grad, with, total_weight.unpack(*this),
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
  TANDEM_SAVED(scores, norms, total_weight);
};

// float32 for scores of a half type.
Tensor class_targets(const Tensor& self, const Tensor& target, const Tensor& weight, const ClassLoss& loss,
                     bool mixed) {
  ClassInputs in = class_inputs("cross_entropy", self, target, weight, mixed);
  const Tensor& x = in.scores;
  const bool each = loss.reduction == ReductionKind::kNone;
  const ScalarType type = computed_type(x.scalar_type());
  Tensor out = empty_raw(each ? IntArrayRef(in.terms) : IntArrayRef(), type, x.device());
  const Tensor norms = empty_raw({2, in.targets2[0], in.targets2[1]}, type, x.device());
  const Tensor total = empty_raw({}, type, x.device());
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
  check(label_smoothing >= 0 && label_smoothing <= 1, "cross_entropy: label_smoothing must be in [0, 1], got ",
        label_smoothing);
  check(reduction != Reduction::BatchMean, "cross_entropy: reduction kBatchMean is only supported by kl_div");
  const ClassLoss loss{reduction.kind(), ignore_index, label_smoothing};
  const auto to = autograd::in_full_precision(self, target, weight);
  if (self.dim() >= 1 && self.sizes() == target.sizes() && target.is_floating_point())
    return to.rounded(probability_targets(to(self), to(target), to(weight), loss));
  return to.rounded(class_targets(self, target, to(weight), loss, static_cast<bool>(to)));
}

}  // namespace tandem
