// logaddexp and logaddexp2.
#include <numbers>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/binary_rule.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

// log(B^a + B^b) to the base B, 2 or e, is max(a, b) + log(1 + B^-|a - b|). Gradients: 1 / (1 + B^(b - a)) and
// 1 / (1 + B^(a - b)).
struct LogAddExpBackward final : NamedNode<LogAddExpBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor d = a.unpack(*this) - b.unpack(*this);
    if (needs(0)) out[0] = g[0] * part(d);
    if (needs(1)) out[1] = g[0] * part(-d);
  }
  Tensor part(const Tensor& d) const {
    if (!binary) return sigmoid(d);
    const Tensor below = d.detach() < 0, e = exp2(where(below, d, -d));
    return where(below, e, 1) / (e + 1);
  }
  TANDEM_SAVED(a, b);
  bool binary = false;
};

Tensor log_sum(const Tensor& self, const Tensor& other, bool binary, const char* operation) {
  if (const auto half = autograd::half_result(self, other))
    return log_sum(autograd::widened(self), autograd::widened(other), binary, operation).to(*half);
  const ScalarType type = result_type(self, other);
  check(is_floating_point(type) || (is_complex(type) && !binary), operation, ": expected floating point, got ", type);
  const Dims sizes = broadcast_sizes(self.sizes(), other.sizes(), operation);
  const Tensor a = as_type(self, type).expand(sizes), b = as_type(other, type).expand(sizes);
  if (is_complex(type)) {
    const Tensor first = real(a.detach()) >= real(b.detach()), larger = where(first, a, b);
    // Equal infinite magnitudes have no difference; the phase of their sum is arbitrary.
    const Tensor same = logical_and(real(a.detach()) == real(b.detach()), real(a.detach()).isinf());
    return larger + exp((where(first, b, a) - larger).masked_fill(same, 0)).log1p();
  }
  const Tensor x = a.detach(), y = b.detach();
  // The difference of equal infinities is NaN.
  const Tensor near = where(x == y, 0, -(x - y).abs());
  const Tensor out = maximum(x, y) + (binary ? exp2(near).log1p() / std::numbers::ln2 : exp(near).log1p());
  if (auto* node = record<LogAddExpBackward>(out, a, b)) {
    node->a.save(a);
    node->b.save(b);
    node->binary = binary;
  }
  return out;
}

}  // namespace

Tensor logaddexp(const Tensor& self, const Tensor& other) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return logaddexp(self, other);
  return log_sum(self, other, false, "logaddexp");
}
Tensor logaddexp2(const Tensor& self, const Tensor& other) {
  if (const auto plain = autocast::unchanged_on_cuda(self)) return logaddexp2(self, other);
  return log_sum(self, other, true, "logaddexp2");
}
Tensor Tensor::logaddexp(const Tensor& other) const { return tandem::logaddexp(*this, other); }
Tensor Tensor::logaddexp2(const Tensor& other) const { return tandem::logaddexp2(*this, other); }

}  // namespace tandem
