// norm: (Σ |x|^p)^(1/p). Gradient: g sign(x) (|x| / norm)^(p-1); for p = ±inf g is shared evenly by the
// elements of that magnitude; 0 where the norm is 0.
#include <cmath>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

// -1, 0 or 1 in x's dtype; constant.
Tensor sign_of(const Tensor& x) {
  const Tensor d = x.detach();
  return (d > 0).to(x.dtype()) - (d < 0).to(x.dtype());
}

// The first empty one of the reduced dimensions, even if the result is empty, too.
optional<int64_t> empty_dim(const Tensor& x, uint32_t mask) {
  for (int64_t d = 0; d < x.dim(); ++d)
    if ((mask >> d & 1) != 0 && x.size(d) == 0) return d;
  return nullopt;
}

struct NormBackward final : NamedNode<NormBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), n = reduced.restore(result.unpack(*this)), grad = reduced.restore(g[0]);
    const Tensor divisor = n + indicator(n, 0);  // no 0 / 0: where the norm is 0, x is 0
    if (p == 0) {
      out[0] = zeros(reduced.sizes, g[0].options());
    } else if (p == 1) {
      out[0] = grad * sign_of(x);
    } else if (p == 2) {
      out[0] = x * (grad / divisor);
    } else if (std::isinf(p)) {
      const Tensor sign = sign_of(x), equal = (x.detach() * sign == n.detach()).to(x.dtype());
      out[0] = grad * sign * (equal / equal.sum(reduced.dims(), /*keepdim=*/true));
    } else {
      // Powers of quotients do not overflow for p > 1, quotients of powers not for others.
      const Tensor sign = sign_of(x), size = x * sign + indicator(x, 0), none = n.detach() == 0;
      const Tensor slope = p > 1 ? pow(size / divisor, p - 1) : pow(size, p - 1) / pow(divisor, p - 1);
      out[0] = grad * sign * where(none, 0, slope);
    }
  }
  TANDEM_SAVED(self, result);
  Reduced reduced;
  double p = 2;
};

}  // namespace

Tensor norm(const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return norm(to(self), p, dim, keepdim, dtype);
  if (const auto half = autograd::half_result(self); half && !dtype)
    return norm(autograd::widened(self), p, dim, keepdim, dtype).to(*half);
  check(!dtype || is_complex(*dtype) || !self.is_complex(), "norm: dtype should be complex for ", self, ", got ",
        dtype.value_or(self.dtype()));
  const Tensor x = as_type(self, dtype.value_or(self.dtype()));
  if (x.is_complex()) return tandem::norm(x.abs(), p, dim, keepdim);
  check(x.is_floating_point(), "norm: expected a floating point or complex tensor, got ", x, "; pass dtype");
  const double power = p.value_or(2).toDouble();
  const uint32_t mask = dim_mask(dim, x.dim());
  const bool has_identity = power >= 0 && !std::isinf(power);
  if (const auto none = empty_dim(x, mask); none && !has_identity)
    fail("norm: the norm with p = ", power, " of no elements is undefined: dimension ", *none, " of ", x.sizes(),
         " is empty");
  Tensor out = empty_raw(reduced_sizes(x.sizes(), mask, true), x.dtype(), x.device());
  backend(x).reduce.norm(out, x, mask, power);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<NormBackward>(out, x)) {
    node->self.save(x);
    node->result.save_output(out);
    node->reduced = {x.sizes(), mask, keepdim};
    node->p = power;
  }
  return out;
}
Tensor norm(const Tensor& self, const Scalar& p) { return tandem::norm(self, p, IntArrayRef{}); }
Tensor Tensor::norm(const Scalar& p) const { return tandem::norm(*this, p); }
Tensor norm(const Tensor& self, const optional<Scalar>& p, ScalarType dtype) {
  return tandem::norm(self, p, IntArrayRef{}, false, dtype);
}
Tensor Tensor::norm(const optional<Scalar>& p, ScalarType dtype) const { return tandem::norm(*this, p, dtype); }
Tensor Tensor::norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::norm(*this, p, dim, keepdim, dtype);
}

}  // namespace tandem
