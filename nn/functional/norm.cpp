// Functional forms of normalisation.
#include "tandem/nn/functional/norm.h"

#include "tandem/autograd/ops/normalization.h"

namespace tandem::nn::functional {

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  check(options.momentum().has_value() || !options.training() || !running_mean.defined(),
        "batch_norm: updating running statistics requires a momentum");
  return tandem::batch_norm(input, options.weight(), options.bias(), running_mean, running_var,
                            options.training(), options.momentum().value_or(0), options.eps());
}
Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return tandem::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(),
                            options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return tandem::group_norm(input, options.num_groups(), options.weight(), options.bias(), options.eps());
}
Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return tandem::instance_norm(input, options.weight(), options.bias(), options.running_mean(),
                               options.running_var(), options.use_input_stats(), options.momentum(),
                               options.eps());
}
Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  return tandem::local_response_norm(input, options.size(), options.alpha(), options.beta(), options.k());
}

}  // namespace tandem::nn::functional
