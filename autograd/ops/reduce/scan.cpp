// cumsum, cumprod, and prod along a dimension, computed by scans.
//
// Gradients. y = running_sum(x): the running sum of g in the other direction. y = running_product(x):
//   dx_k = y_(k-1) S_k, S_k = g_k + x_(k+1) S_(k+1).
// prod: g times the product of all other elements. y = linear_recurrence(a, b):
//   db = L, da_k = L_k y_(k-1), L_k = g_k + a_(k+1) L_(k+1).
#include "tandem/autograd/ops/reduce/scan.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/core/backend/scan.h"

namespace tandem {
namespace autograd {
namespace {

struct RunningSumBackward final : Node {
  const char* label() const override { return "CumsumBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override { out[0] = running_sum(g[0], dim, !reverse); }
  int64_t dim = 0;
  bool reverse = false;
};

struct RunningProductBackward final : Node {
  const char* label() const override { return "CumprodBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor before = shifted(result.unpack(*this), dim, reverse, 1);
    const Tensor factor = shifted(self.unpack(*this), dim, !reverse, 0);
    out[0] = before * linear_recurrence(factor, g[0], dim, !reverse);
  }
  TANDEM_SAVED(self, result);
  int64_t dim = 0;
  bool reverse = false;
};

struct LinearRecurrenceBackward final : NamedNode<LinearRecurrenceBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor l = linear_recurrence(shifted(a.unpack(*this), dim, !reverse, 0), g[0], dim, !reverse);
    if (needs(0)) out[0] = l * shifted(result.unpack(*this), dim, reverse, 0);
    out[1] = l;
  }
  TANDEM_SAVED(a, result);
  int64_t dim = 0;
  bool reverse = false;
};

Tensor scan(const Tensor& x, int64_t dim, bool reverse, const KernelFunction<ScanKernels::Scan>& kernel) {
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  kernel(out, x.detach().contiguous(), dim, reverse);
  return out;
}

}  // namespace

namespace {
// The running products by doubling: after k steps an element is the product of the last 2^k.
Tensor complex_running_product(const Tensor& x, int64_t dim, bool reverse) {
  if (x.dim() == 0) return x.clone();
  Tensor out = reverse ? x.flip({dim}) : x * 1;
  const int64_t n = x.size(dim);
  for (int64_t step = 1; step < n; step *= 2) {
    const Tensor first = out.narrow(dim, 0, step);
    out = cat({first, out.narrow(dim, step, n - step) * out.narrow(dim, 0, n - step)}, dim);
  }
  return reverse ? out.flip({dim}) : out;
}
// The product over a dimension by halving it.
Tensor complex_prod(const Tensor& x, int64_t dim, bool keepdim) {
  if (x.dim() == 0) return x.clone();
  Tensor out = x;
  while (out.size(dim) > 1) {
    const int64_t n = out.size(dim), half = n / 2;
    const Tensor product = out.narrow(dim, 0, half) * out.narrow(dim, half, half);
    out = n % 2 == 0 ? product : cat({product, out.narrow(dim, n - 1, 1)}, dim);
  }
  if (out.size(dim) == 0) out = out.sum(IntArrayRef(dim), true) + 1;
  return keepdim ? out.clone() : out.squeeze(dim).clone();
}
}  // namespace

Tensor running_sum(const Tensor& x, int64_t dim, bool reverse) {
  if (x.is_complex()) {
    if (x.dim() == 0) return x.clone();
    return on_parts(x, [&](const Tensor& parts) { return running_sum(parts, dim, reverse); });
  }
  Tensor out = scan(x, dim, reverse, backend(x).scan.cumsum);
  if (auto* node = record<RunningSumBackward>(out, x)) {
    node->dim = dim;
    node->reverse = reverse;
  }
  return out;
}

Tensor running_product(const Tensor& x, int64_t dim, bool reverse) {
  if (x.is_complex()) return complex_running_product(x, dim, reverse);
  Tensor out = scan(x, dim, reverse, backend(x).scan.cumprod);
  if (auto* node = record<RunningProductBackward>(out, x)) {
    node->self.save(x);
    node->result.save_output(out);
    node->dim = dim;
    node->reverse = reverse;
  }
  return out;
}

Tensor linear_recurrence(const Tensor& a, const Tensor& b, int64_t dim, bool reverse) {
  Tensor out = empty_raw(b.sizes(), b.dtype(), b.device());
  backend(b).scan.linear_recurrence(out, a.detach().contiguous(), b.detach().contiguous(), dim, reverse);
  if (auto* node = record<LinearRecurrenceBackward>(out, a, b)) {
    node->a.save(a);
    node->result.save_output(out);
    node->dim = dim;
    node->reverse = reverse;
  }
  return out;
}

Tensor shifted(const Tensor& x, int64_t dim, bool reverse, const Scalar& fill) {
  if (x.dim() == 0) return full(x.sizes(), fill, x.options());
  const int64_t n = x.size(dim);
  if (n == 0) return x;
  Dims sizes(x.sizes());
  sizes[static_cast<std::size_t>(dim)] = 1;
  const Tensor edge = full(sizes, fill, x.options());
  return reverse ? cat({x.narrow(dim, 1, n - 1), edge}, dim) : cat({edge, x.narrow(dim, 0, n - 1)}, dim);
}

}  // namespace autograd

namespace {
using namespace autograd;

struct ProdBackward final : NamedNode<ProdBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this);
    const Tensor before = shifted(running_product(x, dim, false), dim, false, 1);
    const Tensor after = shifted(running_product(x, dim, true), dim, true, 1);
    out[0] = reduced.restore(g[0]) * (before * after);
  }
  TANDEM_SAVED(self);
  Reduced reduced;
  int64_t dim = 0;
};

// Integers are scanned as int64 and converted to `dtype`.
Tensor cumulative(const Tensor& self, int64_t dim, optional<ScalarType> dtype,
                  Tensor (*scan)(const Tensor&, int64_t, bool)) {
  const ScalarType type = dtype.value_or(is_integral(self.dtype(), true) ? kLong : self.dtype());
  const Tensor x = is_integral(type, true) ? as_type(as_type(self, type), kLong) : widened(as_type(self, type));
  return as_type(scan(x, wrap_dim(dim, x.dim()), false), type);
}

}  // namespace

Tensor cumsum(const Tensor& self, int64_t dim, optional<ScalarType> dtype) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return cumsum(to(self), dim, dtype);
  return cumulative(self, dim, dtype, running_sum);
}
Tensor cumprod(const Tensor& self, int64_t dim, optional<ScalarType> dtype) {
  if (const auto to = autocast::full_precision_on_cuda(self)) return cumprod(to(self), dim, dtype);
  return cumulative(self, dim, dtype, running_product);
}

Tensor prod(const Tensor& self, int64_t dim, bool keepdim, optional<ScalarType> dtype) {
  if (const auto to = autocast::full_precision(self)) return prod(to(self), dim, keepdim, dtype);
  const bool integral = is_integral(self.dtype(), true);
  const ScalarType type = dtype.value_or(integral ? kLong : self.dtype());
  if (is_integral(type, true) && type != kLong) return tandem::prod(as_type(self, type), dim, keepdim, kLong).to(type);
  const Tensor x = integral && type == kLong ? self : as_type(self, type);
  dim = wrap_dim(dim, x.dim());
  if (x.is_complex()) return complex_prod(x, dim, keepdim);
  const uint32_t mask = 1u << dim;
  Tensor out = empty_raw(reduced_sizes(x.sizes(), mask, true), type, x.device());
  backend(x).reduce.prod(out, x, mask);
  out = drop_dims(out, mask, keepdim);
  if (auto* node = record<ProdBackward>(out, x)) {
    node->self.save(x);
    node->reduced = {x.sizes(), mask, keepdim};
    node->dim = dim;
  }
  return out;
}
Tensor prod(const Tensor& self, optional<ScalarType> dtype) {
  return tandem::prod(self.reshape({-1}), 0, false, dtype);
}
Tensor Tensor::prod(optional<ScalarType> dtype) const { return tandem::prod(*this, dtype); }
Tensor Tensor::prod(int64_t dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::prod(*this, dim, keepdim, dtype);
}
TANDEM_MEMBERS(cumsum, (int64_t dim, optional<ScalarType> dtype), (dim, dtype))
TANDEM_MEMBERS(cumprod, (int64_t dim, optional<ScalarType> dtype), (dim, dtype))

}  // namespace tandem
