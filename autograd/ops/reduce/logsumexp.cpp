// logsumexp. Gradient: g exp(x - result).
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

struct LogsumexpBackward final : NamedNode<LogsumexpBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    out[0] = reduced.restore(g[0]) * exp(self.unpack(*this) - reduced.restore(result.unpack(*this)));
  }
  TANDEM_SAVED(self, result);
  Reduced reduced;
};

// Relative to the largest real part, since |exp(z)| is exp of it.
Tensor complex_logsumexp(const Tensor& z, IntArrayRef dim, bool keepdim) {
  const Tensor largest = real(z.detach()).amax(dim, true), shift = where(largest.isfinite(), largest, Scalar(0.0));
  return exp(z - shift).sum(dim, keepdim).log() + drop_dims(shift, dim_mask(dim, z.dim()), keepdim);
}

}  // namespace

Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim) {
  if (const auto to = autograd::in_full_precision_on_cuda(self)) return to.rounded(logsumexp(to(self), dim, keepdim));
  const Tensor x = as_float(self);
  if (x.is_complex()) return complex_logsumexp(x, dim, keepdim);
  const uint32_t mask = dim_mask(dim, x.dim());
  const Dims sizes = reduced_sizes(x.sizes(), mask, true);
  Tensor max = empty_raw(sizes, x.dtype(), x.device());
  Tensor out = empty_raw(sizes, x.dtype(), x.device());
  backend(x).reduce.amax(max, x, mask);
  backend(x).reduce.logsumexp(out, x, max, mask);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<LogsumexpBackward>(out, x)) {
    node->self.save(x);
    node->result.save_output(out);
    node->reduced = {x.sizes(), mask, keepdim};
  }
  return out;
}
Tensor Tensor::logsumexp(IntArrayRef dim, bool keepdim) const { return tandem::logsumexp(*this, dim, keepdim); }

}  // namespace tandem
