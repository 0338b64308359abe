// var and std in two passes: the mean, then the squared deviations from it. Gradients: for var 2 g (x - mean)
// / (count - correction); for std the same with g / (2 std).
#include <algorithm>

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

struct Spread {
  uint32_t mask;
  double correction;
  bool keepdim, root;
};

struct VarBackward final : Node {
  const char* label() const override { return root ? "StdBackward" : "VarBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this);
    Tensor scale = g[0];
    if (root) {
      const Tensor s = result.unpack(*this), zero = indicator(s, 0);
      scale = scale / (2 * s + zero) * (1 - zero);
    }
    const Tensor deviation = x - x.mean(reduced.dims(), /*keepdim=*/true);
    const double factor = x.numel() == 0 ? 0 : 2 / divisor;  // avoids 0 times infinity for an empty tensor
    out[0] = deviation * (reduced.restore(scale) * factor);
  }
  TANDEM_SAVED(self, result);
  Reduced reduced;
  double divisor = 1;
  bool root = false;
};

// mean: the mean of self with keepdim, if already known.
Tensor spread(const Tensor& self, Spread s, Tensor mean = {}) {
  if (self.is_complex()) {  // the variances of both parts together
    const Spread part{s.mask, s.correction, s.keepdim, false};
    const Tensor sum = spread(real(self), part) + spread(imag(self), part);
    if (!s.root) return sum;
    const Tensor zero = sum.detach() == 0;  // there the gradient is 0, as for real numbers
    return sum.masked_fill(zero, 1).sqrt().masked_fill(zero, 0);
  }
  check(self.is_floating_point(), s.root ? "std" : "var", ": expected a floating point or complex tensor, got ", self);
  const Dims sizes = reduced_sizes(self.sizes(), s.mask, true);
  Tensor out = empty_raw(sizes, self.dtype(), self.device());
  const double divisor = std::max(0.0, static_cast<double>(reduced_numel(self.sizes(), s.mask)) - s.correction);
  if (!mean.defined()) {
    mean = empty_raw(sizes, self.dtype(), self.device());
    backend(self).reduce.mean(mean, self, s.mask);
  }
  backend(self).reduce.squared_deviation(out, self, mean, s.mask, divisor, s.root);
  out = drop_dims(out, s.mask, s.keepdim);
  if (auto* node = record<VarBackward>(out, self)) {
    node->self.save(self);
    if (s.root) node->result.save_output(out);
    node->reduced = {self.sizes(), s.mask, s.keepdim};
    node->divisor = divisor;
    node->root = s.root;
  }
  return out;
}

Tensor spread(const Tensor& self, IntArrayRef dim, double correction, bool keepdim, bool root) {
  if (const auto half = autograd::half_result(self))
    return spread(autograd::widened(self), dim, correction, keepdim, root).to(*half);
  return spread(self, {dim_mask(dim, self.dim()), correction, keepdim, root});
}

}  // namespace

namespace autograd {
Tensor biased_var(const Tensor& self, const Tensor& mean, IntArrayRef dim) {
  return spread(self, {dim_mask(dim, self.dim()), 0, true, false}, mean.detach());
}
}  // namespace autograd

#define TANDEM_SPREAD(f, root)                                                                                 \
  Tensor f(const Tensor& self, bool unbiased) { return spread(self, {}, unbiased, false, root); }              \
  Tensor f(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {                                 \
    return spread(self, dim, unbiased, keepdim, root);                                                         \
  }                                                                                                            \
  Tensor f(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction, bool keepdim) {  \
    return spread(self, dim.value_or(IntArrayRef{}), correction.value_or(1).toDouble(), keepdim, root);        \
  }                                                                                                            \
  std::tuple<Tensor, Tensor> f##_mean(const Tensor& self, optional<IntArrayRef> dim,                           \
                                      const optional<Scalar>& correction, bool keepdim) {                      \
    return {tandem::f(self, dim, correction, keepdim), self.mean(dim.value_or(IntArrayRef{}), keepdim)};       \
  }                                                                                                            \
  std::tuple<Tensor, Tensor> f##_mean(const Tensor& self, IntArrayRef dim, bool unbiased, bool keepdim) {      \
    return f##_mean(self, optional<IntArrayRef>(dim), optional<Scalar>(unbiased ? 1 : 0), keepdim);            \
  }                                                                                                            \
  std::tuple<Tensor, Tensor> f##_mean(const Tensor& self, bool unbiased) {                                     \
    return f##_mean(self, IntArrayRef{}, unbiased, false);                                                     \
  }                                                                                                            \
  Tensor Tensor::f(bool unbiased) const { return tandem::f(*this, unbiased); }                                 \
  Tensor Tensor::f(IntArrayRef dim, bool unbiased, bool keepdim) const {                                       \
    return tandem::f(*this, dim, unbiased, keepdim);                                                           \
  }                                                                                                            \
  Tensor Tensor::f(const optional<IntArrayRef>& dim, const optional<Scalar>& correction, bool keepdim) const { \
    return tandem::f(*this, dim, correction, keepdim);                                                         \
  }
TANDEM_SPREAD(var, false)
TANDEM_SPREAD(std, true)
#undef TANDEM_SPREAD

}  // namespace tandem
