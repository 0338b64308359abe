// Losses of classes.
#include <limits>

#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

Reduction reduction_of(Call& c) {
  const std::string name = c.text("reduction", "mean");
  if (name == "none") return Reduction::None;
  if (name == "sum") return Reduction::Sum;
  check(name == "mean", "reduction must be none, sum or mean, got '", name, "'");
  return Reduction::Mean;
}

// Without the attribute no class is ignored, so that its number must be none.
int64_t ignored(Call& c) { return c.integer("ignore_index", std::numeric_limits<int64_t>::min()); }

Tensor classes(Call& c) {
  const Tensor& t = c[1];
  check(c[0].dim() >= 2, "expected scores [N, C, ...], got ", c[0]);
  check(t.scalar_type() == kLong || t.scalar_type() == kInt, "the classes must be int64 or int32, got ", t);
  return t;
}

Results softmax_cross_entropy(Call& c) {
  const Tensor labels = classes(c);
  if (!c.wants(1)) return cross_entropy_loss(c[0], labels, c.optional(2), reduction_of(c), ignored(c));
  const Tensor log_prob = log_softmax(c[0], 1);
  return std::tuple(nll_loss(log_prob, labels, c.optional(2), reduction_of(c), ignored(c)), log_prob);
}

}  // namespace

Operators loss_operators() {
  return {
      {"NegativeLogLikelihoodLoss",
       [](Call& c) { return nll_loss(c[0], classes(c), c.optional(2), reduction_of(c), ignored(c)); }},
      {"SoftmaxCrossEntropyLoss", softmax_cross_entropy},
  };
}

}  // namespace tandem::onnx
