// Losses composed of distances, clamp_min and log_sigmoid.
#include "tandem/autograd/ops/loss/margin_loss.h"
#include "tandem/autograd/ops/detail/precision.h"

#include <numbers>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/distance.h"
#include "tandem/autograd/ops/loss/loss.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {
using autograd::reduce_loss;
Tensor positive_part(const Tensor& t) { return t.clamp_min(Scalar(0)); }
}  // namespace

Tensor margin_ranking_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                           Reduction reduction) {
  if (const auto to = autograd::in_full_precision(input1, input2, target))
    return to.rounded(margin_ranking_loss(to(input1), to(input2), to(target), margin, reduction));
  return reduce_loss("margin_ranking_loss", positive_part(-target * (input1 - input2) + margin), reduction);
}

Tensor hinge_embedding_loss(const Tensor& self, const Tensor& target, double margin, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(hinge_embedding_loss(to(self), to(target), margin, reduction));
  const Tensor apart = where(target != 1, positive_part(margin - self), Scalar(0));
  return reduce_loss("hinge_embedding_loss", apart + where(target != -1, self, Scalar(0)), reduction);
}

Tensor cosine_embedding_loss(const Tensor& input1, const Tensor& input2, const Tensor& target, double margin,
                             Reduction reduction) {
  if (const auto to = autograd::in_full_precision(input1, input2, target))
    return to.rounded(cosine_embedding_loss(to(input1), to(input2), to(target), margin, reduction));
  check(target.dim() <= 1 && input1.dim() == target.dim() + 1 && input1.sizes() == input2.sizes(),
        "cosine_embedding_loss: expected [N, D], [N, D] and [N], or [D], [D] and []\n  input1 ", input1, "\n  input2 ",
        input2, "\n  target ", target);
  constexpr double eps = 1e-12;
  const auto square = [&](const Tensor& x) { return (x * x).sum(IntArrayRef(-1)) + eps; };
  // One after the other: compilers differ in the order of operands, and gradients are added in the order of the calls.
  const Tensor product = (input1 * input2).sum(IntArrayRef(-1)), first = square(input1), second = square(input2);
  const Tensor cosine = product / (first * second).sqrt();
  const Tensor terms =
      where(target == 1, 1 - cosine, Scalar(0)) + where(target == -1, positive_part(cosine - margin), Scalar(0));
  return reduce_loss("cosine_embedding_loss", terms, reduction);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin,
                           double p, double eps, bool swap, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(anchor, positive, negative))
    return to.rounded(triplet_margin_loss(to(anchor), to(positive), to(negative), margin, p, eps, swap, reduction));
  check(anchor.dim() == positive.dim() && anchor.dim() == negative.dim(),
        "triplet_margin_loss: numbers of dimensions differ\n  anchor   ", anchor, "\n  positive ", positive,
        "\n  negative ", negative);
  Tensor far = pairwise_distance(anchor, negative, p, eps);
  if (swap) far = minimum(far, pairwise_distance(positive, negative, p, eps));
  return reduce_loss("triplet_margin_loss", positive_part(margin + pairwise_distance(anchor, positive, p, eps) - far),
                     reduction);
}

Tensor soft_margin_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(soft_margin_loss(to(self), to(target), reduction));
  const Tensor product = target * self;
  const Tensor terms = product.is_complex() ? ((-product).exp() + 1).log() : -log_sigmoid(product);
  return reduce_loss("soft_margin_loss", terms, reduction);
}

Tensor multi_margin_loss(const Tensor& self, const Tensor& target, const Scalar& p, const Scalar& margin,
                         const Tensor& weight, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target, weight))
    return to.rounded(multi_margin_loss(to(self), to(target), p, margin, to(weight), reduction));
  check(p.equal(1) || p.equal(2), "multi_margin_loss: p must be 1 or 2, got ", p);
  check((self.dim() == 1 || self.dim() == 2) && target.dim() == self.dim() - 1 && target.dtype() == kLong,
        "multi_margin_loss: expected [N, C] and classes [N], or [C] and []\n  self   ", self, "\n  target ", target);
  const Tensor y = target.unsqueeze(-1), own = self.gather(-1, y);
  Tensor over = positive_part(margin - own + self);
  if (p.equal(2)) over = over * over;  // square() has a factor 2 x in its gradient, which may overflow
  if (weight.defined()) over = over * weight.index_select(0, target.reshape({-1})).reshape(y.sizes());
  over = over.scatter(-1, y, 0);
  return reduce_loss("multi_margin_loss", over.mean(IntArrayRef(-1)), reduction);
}

Tensor multilabel_margin_loss(const Tensor& self, const Tensor& target, Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(multilabel_margin_loss(to(self), to(target), reduction));
  check((self.dim() == 1 || self.dim() == 2) && target.sizes() == self.sizes() && target.dtype() == kLong,
        "multilabel_margin_loss: expected [N, C] or [C] and int64 classes of the same shape\n  self   ", self,
        "\n  target ", target);
  const int64_t classes = self.size(-1);
  const Tensor given = (target < 0).to(kLong).cumsum(-1) == 0;  // before the first -1
  Dims longer(self.sizes());
  ++longer.back();
  const Tensor own = zeros(longer, self.options())
                         .scatter(-1, target.masked_fill(given.logical_not(), classes), 1)
                         .narrow(-1, 0, classes);
  const Tensor scores = self.gather(-1, target.masked_fill(given.logical_not(), 0));
  const Tensor pairs = given.unsqueeze(-1).to(self.dtype()) * (1 - own).unsqueeze(-2);
  const Tensor terms = positive_part(1 - scores.unsqueeze(-1) + self.unsqueeze(-2)) * pairs;
  return reduce_loss("multilabel_margin_loss", terms.sum(IntArrayRef({-2, -1})) / static_cast<double>(classes),
                     reduction);
}

Tensor multilabel_soft_margin_loss(const Tensor& self, const Tensor& target, const Tensor& weight,
                                   Reduction reduction) {
  if (const auto to = autograd::in_full_precision_on_cuda(self, target, weight))
    return to.rounded(multilabel_soft_margin_loss(to(self), to(target), to(weight), reduction));
  Tensor terms = -(target * log_sigmoid(self) + (1 - target) * log_sigmoid(-self));
  if (weight.defined()) terms = terms * weight;
  return reduce_loss("multilabel_soft_margin_loss", terms.mean(IntArrayRef(-1)), reduction);
}

Tensor poisson_nll_loss(const Tensor& self, const Tensor& target, bool log_input, bool full, double eps,
                        Reduction reduction) {
  if (const auto to = autograd::in_full_precision(self, target))
    return to.rounded(poisson_nll_loss(to(self), to(target), log_input, full, eps, reduction));
  Tensor terms = log_input ? self.exp() - target * self : self - target * (self + eps).log();
  if (full) {
    const Tensor stirling = target * target.log() - target + 0.5 * (2 * std::numbers::pi * target).log();
    terms = terms + masked_fill(stirling, target <= 1, 0);
  }
  return reduce_loss("poisson_nll_loss", terms, reduction);
}

}  // namespace tandem
