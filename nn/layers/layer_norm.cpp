// LayerNorm, RMSNorm and GroupNorm, and their functional forms.
#include "tandem/nn/layers/layer_norm.h"

#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/nn/functional/norm.h"
#include "tandem/nn/layers/norm_members.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {

Tensor layer_norm(const Tensor& input, const LayerNormFuncOptions& options) {
  return tandem::layer_norm(input, options.normalized_shape(), options.weight(), options.bias(), options.eps());
}

Tensor rms_norm(const Tensor& input, const RMSNormFuncOptions& options) {
  return tandem::rms_norm(input, options.normalized_shape(), options.weight(), options.eps());
}

Tensor group_norm(const Tensor& input, const GroupNormFuncOptions& options) {
  return tandem::group_norm(input, options.num_groups(), options.weight(), options.bias(), options.eps());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

LayerNormImpl::LayerNormImpl(LayerNormOptions options) : options(std::move(options)) { LayerNormImpl::reset(); }
void LayerNormImpl::reset() {
  detail::register_affine(*this, weight, bias, options.normalized_shape(), options.elementwise_affine());
  reset_parameters();
}
void LayerNormImpl::reset_parameters() { detail::reset_affine(weight, bias); }
TANDEM_PRINTED_AS(LayerNorm, concat(options.normalized_shape()), ", eps=", options.eps(),
                  ", elementwise_affine=", detail::word(options.elementwise_affine()))
Tensor LayerNormImpl::forward(const Tensor& input) {
  return functional::layer_norm(
      input, functional::LayerNormFuncOptions(options.normalized_shape()).weight(weight).bias(bias).eps(options.eps()));
}

RMSNormImpl::RMSNormImpl(RMSNormOptions options) : options(std::move(options)) { RMSNormImpl::reset(); }
void RMSNormImpl::reset() {
  const bool affine = options.elementwise_affine();
  weight = register_parameter("weight", affine ? tandem::empty(options.normalized_shape()) : Tensor(), affine);
  reset_parameters();
}
void RMSNormImpl::reset_parameters() {
  if (weight.defined()) init::ones_(weight);
}
void RMSNormImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::RMSNorm(" << concat(options.normalized_shape()) << ", eps=";
  if (options.eps())
    stream << *options.eps();
  else
    stream << "None";
  stream << ", elementwise_affine=" << (options.elementwise_affine() ? "true" : "false") << ")";
}
Tensor RMSNormImpl::forward(const Tensor& input) {
  return functional::rms_norm(
      input, functional::RMSNormFuncOptions(options.normalized_shape()).weight(weight).eps(options.eps()));
}

GroupNormImpl::GroupNormImpl(const GroupNormOptions& options) : options(options) {
  check(options.num_groups() > 0 && options.num_channels() % options.num_groups() == 0, "GroupNorm: num_channels (",
        options.num_channels(), ") must be divisible by num_groups (", options.num_groups(), ")");
  GroupNormImpl::reset();
}
void GroupNormImpl::reset() {
  detail::register_affine(*this, weight, bias, {options.num_channels()}, options.affine());
  reset_parameters();
}
void GroupNormImpl::reset_parameters() { detail::reset_affine(weight, bias); }
TANDEM_PRINTED_AS(GroupNorm, options.num_groups(), ", ", options.num_channels(), ", eps=", options.eps(),
                  ", affine=", detail::word(options.affine()))
Tensor GroupNormImpl::forward(const Tensor& input) {
  return functional::group_norm(
      input, functional::GroupNormFuncOptions(options.num_groups()).weight(weight).bias(bias).eps(options.eps()));
}

}  // namespace tandem::nn
