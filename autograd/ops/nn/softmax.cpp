// softmax and log_softmax. Gradients: y (g - Σ g y), and g - exp(y) Σ g, with the sums along the dimension.
#include "tandem/autograd/ops/nn/softmax.h"

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/softmax.h"

namespace tandem {
namespace {
using namespace autograd;

// Computes the gradient in one fused pass. Used when the gradient itself is not recorded.
Tensor fused(const KernelFunction<SoftmaxKernels::Backward>& kernel, const Tensor& g, const Tensor& y, int64_t dim) {
  Tensor out = empty_raw(y.sizes(), y.dtype(), y.device());
  kernel(out, g.contiguous(), y, dim);
  return out;
}

struct SoftmaxBackward final : NamedNode<SoftmaxBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor y = output.unpack(*this);
    if (!GradMode::is_enabled()) {
      out[0] = fused(backend(y).softmax.softmax_backward, g[0], y, dim);
      return;
    }
    const Tensor gy = g[0] * y;
    out[0] = gy.add(y * gy.sum(dim, /*keepdim=*/true), -1);
  }
  TANDEM_SAVED(output);
  int64_t dim = 0;
};

struct LogSoftmaxBackward final : NamedNode<LogSoftmaxBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor y = output.unpack(*this);
    out[0] = GradMode::is_enabled() ? g[0].add(exp(y) * g[0].sum(dim, /*keepdim=*/true), -1)
                                    : fused(backend(y).softmax.log_softmax_backward, g[0], y, dim);
  }
  TANDEM_SAVED(output);
  int64_t dim = 0;
};

template <class Backward>
Tensor forward(const Tensor& self, int64_t dim, optional<ScalarType> dtype,
               const KernelFunction<SoftmaxKernels::Forward>& kernel, const char* name) {
  if (const auto to = autocast::full_precision_on_cuda(self))
    return forward<Backward>(to(self), dim, dtype, kernel, name);
  const Tensor x = as_type(self, dtype.value_or(self.dtype()));
  check(x.is_floating_point(), name, ": expected a floating point tensor, got ", x, "; pass dtype");
  dim = wrap_dim(dim, x.dim());
  Tensor out = empty_raw(x.sizes(), x.dtype(), x.device());
  kernel(out, x.detach().contiguous(), dim);
  if (auto* node = record<Backward>(out, x)) {
    node->output.save_output(out);
    node->dim = dim;
  }
  return out;
}

}  // namespace

Tensor softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype) {
  return forward<SoftmaxBackward>(self, dim, dtype, backend(self).softmax.softmax, "softmax");
}
Tensor log_softmax(const Tensor& self, int64_t dim, optional<ScalarType> dtype) {
  return forward<LogSoftmaxBackward>(self, dim, dtype, backend(self).softmax.log_softmax, "log_softmax");
}
Tensor Tensor::softmax(int64_t dim, optional<ScalarType> dtype) const { return tandem::softmax(*this, dim, dtype); }
Tensor Tensor::log_softmax(int64_t dim, optional<ScalarType> dtype) const {
  return tandem::log_softmax(*this, dim, dtype);
}

}  // namespace tandem
