// batch_norm. Gradients: with h = (x - mean) / s, s = sqrt(var + eps): dw = sum g h, db = sum g, dx = w / s
// (g - mean(g) - h mean(g h)), or w / s g when the statistics are constants.
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/nn/running_statistics.h"

#include "tandem/autograd/buffer_updates.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/detail/row_major.h"
#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/reproducible.h"

namespace tandem {
namespace {
using namespace autograd;

struct BatchNormBackward final : NamedNode<BatchNormBackward> {
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor x = input.unpack(*this), w = weight.unpack(*this);
    const MemoryFormat format = x.suggest_memory_format();
    const Tensor g = grads[0].contiguous(format);
    if (GradMode::is_enabled()) return differentiable(widened(g), widened(x), widened(w), out);
    const auto per_channel = [&](std::size_t j) {
      return needs(j) ? empty_raw({x.size(1)}, toOpMathType(x.dtype()), x.device()) : Tensor();
    };
    if (needs(0)) out[0] = empty_raw(x.sizes(), x.dtype(), x.device(), format);
    out[1] = per_channel(1);
    out[2] = per_channel(2);
    backend(x).batch_norm.backward(out[0].defined() ? as_channels(out[0], format) : out[0], out[1], out[2],
                                   as_channels(g, format), as_channels(x, format), mean.unpack(*this),
                                   variance.unpack(*this), w, eps, of_batch);
  }

  // Here the statistics of the batch are functions of x.
  void differentiable(const Tensor& g, const Tensor& x, const Tensor& w, std::span<Tensor> out) const {
    Dims dims{0}, row(x.sizes().size(), 1);
    for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
    row[1] = x.size(1);
    const Tensor center = of_batch ? x.mean(dims, true) : widened(mean.unpack(*this)).view(row), far = x - center,
                 var = of_batch ? biased_var(x, center, dims) : widened(variance.unpack(*this)).view(row),
                 inverse = (var + eps).rsqrt(), h = far * inverse;
    if (needs(1)) out[1] = (g * h).sum(dims);
    if (needs(2)) out[2] = g.sum(dims);
    if (!needs(0)) return;
    const Tensor scale = w.defined() ? inverse * w.view(row) : inverse;
    out[0] = of_batch ? scale * (g - g.mean(dims, true) - h * (g * h).mean(dims, true)) : scale * g;
  }

  TANDEM_SAVED(input, weight, mean, variance);
  double eps = 0;
  bool of_batch = false;
};

void check_batch_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                      const Tensor& running_var, bool of_batch) {
  check(input.dim() >= 2, "batch_norm: expected input [N, C, ...], got ", input);
  check(input.is_floating_point(), "batch_norm: expected floating point, got ", input);
  check(running_mean.defined() == running_var.defined(),
        "batch_norm: expected both running_mean and running_var, or neither");
  const auto fits = [&](const char* what, const Tensor& t) {
    if (!t.defined()) return;
    check(t.dim() == 1 && t.size(0) == input.size(1), "batch_norm: ", what, " must be [", input.size(1), "]\n  input  ",
          input, "\n  ", what, " ", t);
    check_parameter("batch_norm", input, what, t);
  };
  fits("weight", weight);
  fits("bias", bias);
  fits("running_mean", running_mean);
  fits("running_var", running_var);
  const int64_t values = input.size(1) == 0 ? 0 : input.numel() / input.size(1);
  check(!of_batch || values != 1, "batch_norm: expected more than one value per channel when training, got ", input);
}
}  // namespace

namespace autograd {

Tensor as_channels(const Tensor& t, MemoryFormat format) {
  int64_t inner = 1;
  for (int64_t d = 2; d < t.dim(); ++d) inner *= t.size(d);
  const Dims sizes =
      is_channels_last(format) ? Dims{t.size(0) * inner, t.size(1), 1} : Dims{t.size(0), t.size(1), inner};
  return alias(t, sizes, contiguous_strides(sizes), t.storage_offset());
}

void track(Tensor& running, const Tensor& batch, double momentum, double factor) {
  running.mul_(1 - momentum).add_(batch, momentum * factor);
}

// Updates mean, variance and, if there is one, the count by the backend's kernel. Returns false if it has none for them.
static bool tracked_at_once(const std::vector<Tensor>& running, const std::vector<Tensor>& batch, double momentum,
                            double factor) {
  const auto& kernel = backend(running[0]).batch_norm.track;
  const auto fits = [&](const Tensor& t, ScalarType dtype, int64_t numel) {
    return t.dtype() == dtype && t.device() == running[0].device() && t.is_contiguous() && t.numel() == numel;
  };
  // The kernel's sums are rounded otherwise than those of the operations.
  if (!kernel || reproducible() == Reproducible::kStrict || (running.size() > 2 && !fits(running[2], kLong, 1)))
    return false;
  for (const Tensor& t : {running[0], running[1], batch[0], batch[1]})
    if (!fits(t, kFloat, batch[0].numel())) return false;
  for (const Tensor& t : running) check_inplace(t, "batch_norm");
  kernel(running[0], running[1], running.size() > 2 ? running[2] : Tensor(), batch[0], batch[1], momentum, factor);
  for (const Tensor& t : running) wrote(t, "batch_norm");
  return true;
}

Tensor normalize_channels(const Tensor& self, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                          const Tensor& running_var, bool training, double eps, BatchStatistics* statistics) {
  const bool of_batch = training || !running_mean.defined();
  if (const auto to =
          in_row_major_on_cpu(self, of_batch || isReducedFloatingType(self.dtype()) || recording(self, weight, bias)))
    return to.restored(
        normalize_channels(to(self), weight, bias, running_mean, running_var, training, eps, statistics));
  check_batch_norm(self, weight, bias, running_mean, running_var, training);
  const MemoryFormat format = self.suggest_memory_format();
  const Tensor input = self.contiguous(format), w = weight.defined() ? weight.contiguous() : weight;
  const Tensor x = as_channels(input, format);
  Tensor mean, variance;
  if (of_batch) {
    mean = empty_raw({x.size(1)}, toOpMathType(x.dtype()), x.device());
    variance = empty_raw(mean.sizes(), mean.dtype(), x.device());
    backend(x).batch_norm.statistics(mean, variance, x);
  } else {
    // Copies, because a later training step may overwrite the running statistics before backward.
    mean = recording(input, weight, bias) ? running_mean.detach().clone() : running_mean.detach().contiguous();
    variance = recording(input, weight, bias) ? running_var.detach().clone() : running_var.detach().contiguous();
  }
  Tensor out = empty_raw(input.sizes(), input.dtype(), input.device(), format);
  backend(x).batch_norm.normalize(as_channels(out, format), x, mean, variance, w,
                                  bias.defined() ? bias.contiguous() : bias, eps);
  if (auto* node = record<BatchNormBackward>(out, input, weight, bias)) {
    node->input.save(input);
    node->weight.save(w);
    node->mean.save(mean);
    node->variance.save(variance);
    node->eps = eps;
    node->of_batch = of_batch;
  }
  if (statistics != nullptr) *statistics = {mean, variance, x.size(0) * x.size(2)};
  return out;
}

Tensor batch_norm_tracked(const Tensor& self, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                          const Tensor& running_var, const Tensor& batches, bool training, optional<double> momentum,
                          double eps) {
  BatchStatistics of;
  const Tensor out = normalize_channels(self, weight, bias, running_mean, running_var, training, eps, &of);
  if (!training || !running_mean.defined()) return out;
  std::vector<Tensor> buffers{running_mean, running_var};
  if (batches.defined()) buffers.push_back(batches);
  update_buffers(std::move(buffers), {of.mean, of.variance},
                 [momentum, count = of.count, factor = of.unbiased()](std::vector<Tensor>& running,
                                                                      const std::vector<Tensor>& batch) {
                   if (momentum && count != 0 && tracked_at_once(running, batch, *momentum, factor)) return;
                   double weight_of_new = momentum.value_or(0);
                   if (running.size() > 2) {
                     running[2].add_(1);
                     if (!momentum) weight_of_new = 1.0 / running[2].item<double>();
                   }
                   if (count == 0) return;
                   track(running[0], batch[0], weight_of_new, 1);
                   track(running[1], batch[1], weight_of_new, factor);
                 });
  return out;
}

}  // namespace autograd

Tensor batch_norm(const Tensor& self, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                  const Tensor& running_var, bool training, double momentum, double eps) {
  return autograd::batch_norm_tracked(self, weight, bias, running_mean, running_var, {}, training, momentum, eps);
}

}  // namespace tandem
