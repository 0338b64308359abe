// nll_loss. It is linear in the scores: its gradient puts -w(y) g at the target, and the gradient of that is
// nll_loss of the incoming gradient.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/loss.h"

namespace tandem {
namespace autograd {

Tensor reshaped(const Tensor& t, const Dims& sizes) {
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset());
}

Tensor reduce_loss(const char* operation, const Tensor& terms, Reduction reduction) {
  check(reduction != Reduction::BatchMean, operation, ": reduction kBatchMean is only supported by kl_div");
  if (reduction == Reduction::None) return terms;
  return reduction == Reduction::Mean ? terms.mean() : terms.sum();
}

ClassInputs class_inputs(const char* operation, const Tensor& self, const Tensor& target, const Tensor& weight,
                         bool mixed) {
  check(self.dim() >= 1, operation, ": expected scores [N, C, ...] or [C], got ", self);
  const int64_t d = self.dim() == 1 ? 0 : 1, classes = self.size(d);
  ClassInputs in;
  in.terms = self.sizes();
  in.terms.erase(static_cast<std::size_t>(d));
  check(target.sizes() == IntArrayRef(in.terms), operation, ": targets must have shape ", in.terms, "\n  scores ", self,
        "\n  target ", target);
  check(is_integral(target.dtype(), false), operation, ": targets must be integer class indices\n  target ", target);
  check(classes >= 1, operation, ": expected at least one class, got ", self);
  check(self.device() == target.device(), operation, ": devices differ\n  scores ", self, "\n  target ", target,
        "\n  move one with .to(device)");
  if (weight.defined()) {
    check(weight.dim() == 1 && weight.size(0) == classes, operation, ": weight must be [", classes, "]\n  scores ",
          self, "\n  weight ", weight);
    mixed ? check_parameter(operation, self, "weight", weight)
          : check_alike(operation, "scores", self, "weight", weight);
    in.weight = weight.detach().contiguous();
  }
  in.scores = self.contiguous();
  in.target = target.to(kLong).contiguous();
  const int64_t n = d == 0 ? 1 : self.size(0);
  int64_t inner = 1;
  for (int64_t k = 2; k < self.dim(); ++k) inner *= self.size(k);
  in.scores3 = {n, classes, inner};
  in.targets2 = {n, inner};
  return in;
}

}  // namespace autograd

namespace {
using namespace autograd;

Tensor nll_with(const Tensor& scores, const ClassInputs& in, const ClassLoss& loss);

struct NllNode : Node {
  ClassInputs in;  // without the scores
  ClassLoss loss;
  TANDEM_SAVED(total_weight);

  void keep(const ClassInputs& inputs, const ClassLoss& parameters, const Tensor& total) {
    in = inputs;
    in.scores.reset();
    loss = parameters;
    total_weight.save(total);
  }
};

struct NllLossBackwardBackward final : NamedNode<NllLossBackwardBackward, NllNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = nll_with(g[0].contiguous(), in, loss); }
};

struct NllLossBackward final : NamedNode<NllLossBackward, NllNode> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor grad = g[0].contiguous(), total = total_weight.unpack(*this);
    out[0] = empty_raw(sizes, grad.dtype(), grad.device());
    backend(grad).loss.nll_backward(reshaped(out[0], in.scores3), grad, total, reshaped(in.target, in.targets2),
                                    in.weight, loss);
    if (auto* node = record<NllLossBackwardBackward>(out[0], grad)) node->keep(in, loss, total);
  }
  Dims sizes;
};

Tensor nll_with(const Tensor& scores, const ClassInputs& in, const ClassLoss& loss) {
  const bool each = loss.reduction == ReductionKind::kNone;
  Tensor out = empty_raw(each ? IntArrayRef(in.terms) : IntArrayRef(), scores.dtype(), scores.device());
  const Tensor total = empty_raw({}, scores.dtype(), scores.device());
  backend(scores).loss.nll(out, total, reshaped(scores, in.scores3), reshaped(in.target, in.targets2), in.weight, loss);
  if (auto* node = record<NllLossBackward>(out, scores)) {
    node->keep(in, loss, total);
    node->sizes = scores.sizes();
  }
  return out;
}

}  // namespace

Tensor nll_loss(const Tensor& self, const Tensor& target, const Tensor& weight, Reduction reduction,
                int64_t ignore_index) {
  if (const auto to = autograd::in_full_precision(self, target, weight))
    return to.rounded(nll_loss(to(self), to(target), to(weight), reduction, ignore_index));
  check(reduction != Reduction::BatchMean, "nll_loss: reduction kBatchMean is only supported by kl_div");
  const ClassInputs in = class_inputs("nll_loss", self, target, weight);
  return nll_with(in.scores, in, {.reduction = reduction.kind(), .ignore_index = ignore_index});
}

}  // namespace tandem
