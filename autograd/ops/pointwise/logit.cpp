// logit: log(x / (1 - x)).
#include <limits>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

// log(x / (1 - x)) is defined only in [0, 1], where its derivative is 1 / (x (1 - x)). With `low`, the gradient is 0
// outside [low, 1 - low]; without it, NaN outside [0, 1].
struct LogitBackward final : NamedNode<LogitBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this);
    const double bound = low.value_or(0), value = low ? 0 : std::numeric_limits<double>::quiet_NaN();
    const Tensor outside = logical_or(x<bound, x> 1 - bound), safe = where(outside, 0.5, x);
    out[0] = where(outside, value, g[0] / (safe * (1 - safe)));
  }
  TANDEM_SAVED(self);
  optional<double> low;
};

}  // namespace

Tensor logit(const Tensor& self, optional<double> eps) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return logit(self, eps);
  refuse_complex("logit", self);
  const Tensor input = as_float(self);
  Tensor x = input.detach();
  if (eps) x = x.clamp(Scalar(*eps), Scalar(1 - *eps));
  const Tensor out = (x / (1 - x)).log();
  if (auto* node = record<LogitBackward>(out, input)) {
    node->self.save(input);
    node->low = eps;
  }
  return out;
}
TANDEM_MEMBERS(logit, (optional<double> eps), (eps))

}  // namespace tandem
