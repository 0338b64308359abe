// Batch normalisation over processes. With h = (x - mean) / s, s = sqrt(var + eps), and sums over all processes:
// dx = w / s (g - mean(g) - h mean(g h)); dw and db are sums over this process only, as in other layers.
#include "tandem/parallel/distributed_data_parallel/sync_batch_norm.h"

#include <ostream>

#include "tandem/autograd/buffer_updates.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/nn/running_statistics.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/memory_format.h"
#include "tandem/core/reproducible.h"
#include "tandem/nn/layers/norm_members.h"
#include "tandem/parallel/shared/collectives.h"

namespace tandem::distributed {
namespace {
using namespace autograd;
using Group = std::shared_ptr<ProcessGroup>;

// Of all processes' batches.
struct Statistics {
  Tensor mean, variance;  // [C], biased
  Tensor count;           // [1], float64: values per channel
};

// Counts, means and sums of squared deviations are joined in rank order (T. F. Chan, G. H. Golub, R. J. LeVeque:
// Updating formulae and a pairwise algorithm for computing sample variances. 1979), so all processes get the same bits.
Statistics statistics_of(const Tensor& x, ProcessGroup& group) {
  const NoGradGuard no_grad;
  const int64_t channels = x.size(1), values = x.size(0) * x.size(2);
  const auto options = TensorOptions(kDouble).device(x.device());
  Tensor own = zeros({1 + 2 * channels}, options), all = empty({group.size(), 1 + 2 * channels}, options);
  if (values > 0) {
    const Tensor mean = empty_raw({channels}, x.dtype(), x.device()), variance = empty_like(mean);
    backend(x).batch_norm.statistics(mean, variance, x);
    own.narrow(0, 0, 1).fill_(static_cast<double>(values));
    own.narrow(0, 1, channels).copy_(mean);
    own.narrow(0, 1 + channels, channels).copy_(variance).mul_(static_cast<double>(values));
  }
  group.all_gather(all, own.unsqueeze(0))->wait();
  Tensor count = zeros({1}, options), mean = zeros({channels}, options), squares = zeros({channels}, options);
  for (int rank = 0; rank < group.size(); ++rank) {
    const Tensor row = all.select(0, rank), n = row.narrow(0, 0, 1), total = count + n, share = n / total.clamp_min(1),
                 far = row.narrow(0, 1, channels) - mean;
    squares += row.narrow(0, 1 + channels, channels) + far * far * (count * share);
    mean += far * share;
    count = total;
  }
  return {mean.to(x.dtype()), (squares / count.clamp_min(1)).to(x.dtype()), count};
}

struct SyncBatchNormBackward final : Node {
  const char* label() const override { return "SyncBatchNormBackward"; }
  void backward(std::span<Tensor> grads, std::span<Tensor> out) override {
    const Tensor x = input.unpack(*this), w = weight.unpack(*this), g = grads[0].contiguous(format);
    const Tensor n = count.unpack(*this).clamp_min(1);
    GradMode::is_enabled() ? differentiable(g, x, w, n, out) : fused(g, x, w, n, out);
  }
  void release() override {
    for (SavedTensor* saved : {&input, &weight, &mean, &variance, &count}) saved->release();
  }

  void fused(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor& n, std::span<Tensor> out) const {
    const int64_t channels = x.size(1);
    const Tensor m = mean.unpack(*this), var = variance.unpack(*this);
    const Tensor gs = as_channels(g, format), xs = as_channels(x, format);
    Tensor sums = empty_raw({2, channels}, x.dtype(), x.device());  // of g h and of g
    backend(x).batch_norm.backward({}, sums.select(0, 0), sums.select(0, 1), gs, xs, m, var, w, eps, false);
    if (needs(1)) out[1] = sums.select(0, 0).clone();
    if (needs(2)) out[2] = sums.select(0, 1).clone();
    if (!needs(0)) return;
    const Tensor all = sums.to(kDouble).contiguous();
    group->all_reduce(all)->wait();
    const Tensor means = (all / n).to(x.dtype()), inverse = (var + eps).rsqrt();
    const Tensor scale = w.defined() ? inverse * w : inverse;
    const auto row = [&](const Tensor& t) { return t.view({1, channels, 1}); };
    const Tensor slope = means.select(0, 0) * inverse;
    Tensor dx = (xs - row(m)).mul_(row(slope.neg()));
    dx.add_(gs).sub_(row(means.select(0, 1))).mul_(row(scale));
    out[0] = alias(dx, x.sizes(), dense_strides(x.sizes(), format), 0);
  }

  // Here the statistics are functions of x.
  void differentiable(const Tensor& g, const Tensor& x, const Tensor& w, const Tensor& n, std::span<Tensor> out) const {
    Dims dims{0}, row(x.sizes().size(), 1);
    for (int64_t d = 2; d < x.dim(); ++d) dims.push_back(d);
    row[1] = x.size(1);
    const auto mean_of = [&](const Tensor& t) {
      return functional::all_reduce(t.sum(dims, true), ReduceOp::SUM, group) / n.to(x.dtype());
    };
    const Tensor far = x - mean_of(x), inverse = (mean_of(far * far) + eps).rsqrt(), h = far * inverse;
    if (needs(1)) out[1] = (g * h).sum(dims);
    if (needs(2)) out[2] = g.sum(dims);
    if (!needs(0)) return;
    const Tensor scale = w.defined() ? inverse * w.view(row) : inverse;
    out[0] = scale * (g - mean_of(g) - h * mean_of(g * h));
  }

  Group group;
  SavedTensor input, weight, mean, variance, count;
  MemoryFormat format = MemoryFormat::Contiguous;
  double eps = 0;
};

void check_input(const Tensor& input, const Tensor& weight, const Tensor& bias, int64_t features) {
  check(input.dim() >= 2 && input.size(1) == features, "SyncBatchNorm: expected input [N, ", features, ", ...], got ",
        input);
  check(input.is_floating_point(), "SyncBatchNorm: expected floating point, got ", input);
  for (const Tensor* t : {&weight, &bias})
    check(!t->defined() ||
              ((t->dtype() == input.dtype() || (t->dtype() == kFloat && isReducedFloatingType(input.dtype()))) &&
               t->device() == input.device()),
          "SyncBatchNorm: input and parameters differ in dtype or device\n  input     ", input, "\n  parameter ", *t);
}

// Of a training batch; stores what it used in `of`.
Tensor normalize(const Tensor& self, const Tensor& w, const Tensor& b, double eps, const Group& group, Statistics& of) {
  if (const ScalarType type = self.dtype(); isReducedFloatingType(type)) {
    const auto wide = [](const Tensor& t) { return t.defined() ? t.to(kFloat) : t; };
    return normalize(wide(self), wide(w), wide(b), eps, group, of).to(type);
  }
  const bool as_cpu = self.is_cpu() || reproducible() == Reproducible::kStrict;
  const MemoryFormat own = self.suggest_memory_format(), format = as_cpu ? MemoryFormat::Contiguous : own;
  if (format != own && !self.is_contiguous())  // a CPU's kernels are row-major
    return normalize(self.contiguous(), w, b, eps, group, of).contiguous(own);
  const Tensor input = self.contiguous(format), weight = w.defined() ? w.contiguous() : w;
  const Tensor x = as_channels(input, format);
  of = statistics_of(x, *group);
  check(!x.is_cpu() || of.count.item<double>() != 1,  // a GPU would have to be waited for
        "SyncBatchNorm: expected more than one value per channel when training, got one in all processes");
  Tensor out = empty_raw(input.sizes(), input.dtype(), input.device(), format);
  backend(x).batch_norm.normalize(as_channels(out, format), x, of.mean, of.variance, weight,
                                  b.defined() ? b.contiguous() : b, eps);
  if (auto* node = record<SyncBatchNormBackward>(out, input, weight, b)) {
    node->group = group;
    node->format = format;
    node->input.save(input);
    node->weight.save(weight);
    node->mean.save(of.mean);
    node->variance.save(of.variance);
    node->count.save(of.count);
    node->eps = eps;
  }
  return out;
}

void update_running(const nn::BatchNormCall& call, const Statistics& of) {
  std::vector<Tensor> buffers{call.running_mean, call.running_var};
  if (call.num_batches_tracked.defined()) buffers.push_back(call.num_batches_tracked);
  const Tensor unbiased = (of.variance * (of.count / (of.count - 1).clamp_min(1)).to(of.variance.dtype())).detach();
  update_buffers(std::move(buffers), {of.mean, unbiased},
                 [momentum = call.momentum](std::vector<Tensor>& running, const std::vector<Tensor>& batch) {
                   double weight_of_new = momentum.value_or(0);
                   if (running.size() > 2) {
                     running[2].add_(1);
                     if (!momentum) weight_of_new = 1.0 / running[2].item<double>();
                   }
                   track(running[0], batch[0], weight_of_new, 1);
                   track(running[1], batch[1], weight_of_new, 1);
                 });
}

Tensor sync_batch_norm(const nn::BatchNormCall& call, const Group& group) {
  if (!call.training || group->size() == 1)
    return batch_norm_tracked(call.input, call.weight, call.bias, call.running_mean, call.running_var,
                              call.num_batches_tracked, call.training, call.momentum, call.eps);
  Statistics of;
  const Tensor out = normalize(call.input, call.weight, call.bias, call.eps, group, of);
  if (call.running_mean.defined()) update_running(call, of);
  return out;
}

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(const nn::BatchNormOptions& options, std::shared_ptr<ProcessGroup> group)
    : options(options), process_group(std::move(group)) {
  check(options.num_features() > 0, "SyncBatchNorm: num_features must be positive, got ", options.num_features());
  SyncBatchNormImpl::reset();
}

void SyncBatchNormImpl::reset() {
  nn::detail::register_affine(*this, weight, bias, {options.num_features()}, options.affine());
  nn::detail::register_running_stats(*this);
  reset_parameters();
}
void SyncBatchNormImpl::reset_running_stats() {
  if (!options.track_running_stats()) return;
  nn::init::zeros_(running_mean);
  nn::init::ones_(running_var);
  nn::init::zeros_(num_batches_tracked);
}
void SyncBatchNormImpl::reset_parameters() {
  reset_running_stats();
  nn::detail::reset_affine(weight, bias);
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::distributed::SyncBatchNorm(" << options.num_features() << ", eps=" << options.eps()
         << ", momentum=";
  if (options.momentum())
    stream << *options.momentum();
  else
    stream << "None";
  stream << ", affine=" << (options.affine() ? "true" : "false")
         << ", track_running_stats=" << (options.track_running_stats() ? "true" : "false") << ")";
}

Tensor SyncBatchNormImpl::forward(const Tensor& input) {
  check_input(input, weight, bias, options.num_features());
  return sync_batch_norm({.input = input,
                          .weight = weight,
                          .bias = bias,
                          .running_mean = running_mean,
                          .running_var = running_var,
                          .num_batches_tracked = num_batches_tracked,
                          .training = is_training() || !running_mean.defined(),
                          .momentum = options.momentum(),
                          .eps = options.eps()},
                         given_or_default(process_group, "SyncBatchNorm"));
}

int convert_sync_batchnorm(nn::Module& module, std::shared_ptr<ProcessGroup> given) {
  const Group group = given_or_default(given, "SyncBatchNorm");
  int count = 0;
  module.apply([&](nn::Module& part) {
    const auto convert = [&](auto* layer) {
      if (layer == nullptr) return;
      layer->normalize = [group, features = layer->options.num_features()](const nn::BatchNormCall& call) {
        check_input(call.input, call.weight, call.bias, features);
        return sync_batch_norm(call, group);
      };
      ++count;
    };
    convert(part.as<nn::BatchNorm1d>());
    convert(part.as<nn::BatchNorm2d>());
    convert(part.as<nn::BatchNorm3d>());
  });
  return count;
}

}  // namespace tandem::distributed
