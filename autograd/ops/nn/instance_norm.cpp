// instance_norm, computed as a batch normalisation.
#include "tandem/autograd/buffer_updates.h"
#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/nn/running_statistics.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {

// Treats the channels of all images as channels of a single image: batch_norm of [1, N C, ...].
Tensor instance_norm(const Tensor& input, const Tensor& weight, const Tensor& bias, const Tensor& running_mean,
                     const Tensor& running_var, bool use_input_stats, double momentum, double eps) {
  check(input.dim() >= 3, "instance_norm: expected [N, C, ...], got ", input);
  check(use_input_stats || (running_mean.defined() && running_var.defined()),
        "instance_norm: there are no running statistics to use");
  const int64_t n = input.size(0), c = input.size(1);
  const auto repeated = [&](const Tensor& t) { return t.defined() ? t.repeat({n}) : t; };
  Dims sizes(input.sizes());
  sizes[0] = 1;
  sizes[1] = n * c;
  autograd::BatchStatistics of;
  const Tensor out =
      autograd::normalize_channels(input.reshape(sizes), repeated(weight), repeated(bias), repeated(running_mean),
                                   repeated(running_var), use_input_stats, eps, &of);
  if (use_input_stats && running_mean.defined() && of.count > 0)
    autograd::update_buffers(
        {running_mean, running_var}, {of.mean, of.variance},
        [n, c, momentum, unbiased = of.unbiased()](std::vector<Tensor>& running, const std::vector<Tensor>& batch) {
          for (std::size_t i = 0; i < 2; ++i) {
            Tensor each = running[i].repeat({n});
            autograd::track(each, batch[i], momentum, i == 0 ? 1 : unbiased);
            running[i].copy_(each.view({n, c}).mean(IntArrayRef(0)));
          }
        });
  return out.reshape(input.sizes());
}

}  // namespace tandem
