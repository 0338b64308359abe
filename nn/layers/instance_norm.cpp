// InstanceNorm1d, InstanceNorm2d and InstanceNorm3d, and the functional form.
#include "tandem/nn/layers/instance_norm.h"

#include <ostream>

#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/nn/functional/norm.h"
#include "tandem/nn/layers/norm_members.h"

namespace tandem::nn::functional {

Tensor instance_norm(const Tensor& input, const InstanceNormFuncOptions& options) {
  return tandem::instance_norm(input, options.weight(), options.bias(), options.running_mean(), options.running_var(),
                               options.use_input_stats(), options.momentum(), options.eps());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {
/// Spatial dimensions.
template <class Derived>
constexpr int64_t spatial() {
  if (std::is_same_v<Derived, InstanceNorm1dImpl>) return 1;
  return std::is_same_v<Derived, InstanceNorm2dImpl> ? 2 : 3;
}
}  // namespace

template <class Derived>
InstanceNormImplBase<Derived>::InstanceNormImplBase(const InstanceNormOptions& options) : options(options) {
  check(options.num_features() > 0, "InstanceNorm: num_features must be positive, got ", options.num_features());
  InstanceNormImplBase::reset();
}
template <class Derived>
void InstanceNormImplBase<Derived>::reset() {
  detail::register_affine(*this, weight, bias, {options.num_features()}, options.affine());
  detail::register_running_stats(*this);
  reset_parameters();
}
template <class Derived>
void InstanceNormImplBase<Derived>::reset_parameters() {
  detail::reset_affine(weight, bias);
}
template <class Derived>
void InstanceNormImplBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::InstanceNorm" << spatial<Derived>() << "d(" << options.num_features()
         << ", eps=" << options.eps() << ", momentum=" << options.momentum()
         << ", affine=" << (options.affine() ? "true" : "false")
         << ", track_running_stats=" << (options.track_running_stats() ? "true" : "false") << ")";
}
template <class Derived>
Tensor InstanceNormImplBase<Derived>::forward(const Tensor& input) {
  constexpr int64_t rank = spatial<Derived>() + 2;
  check(input.dim() == rank || input.dim() == rank - 1, "InstanceNorm: input must have ", rank, " or ", rank - 1,
        " dimensions, got ", input);
  if (input.dim() == rank - 1) return forward(input.unsqueeze(0)).squeeze(0);
  return functional::instance_norm(input, functional::InstanceNormFuncOptions()
                                              .running_mean(running_mean)
                                              .running_var(running_var)
                                              .weight(weight)
                                              .bias(bias)
                                              .use_input_stats(this->is_training() || !running_mean.defined())
                                              .momentum(options.momentum())
                                              .eps(options.eps()));
}
template class InstanceNormImplBase<InstanceNorm1dImpl>;
template class InstanceNormImplBase<InstanceNorm2dImpl>;
template class InstanceNormImplBase<InstanceNorm3dImpl>;

}  // namespace tandem::nn
