// BatchNorm1d, BatchNorm2d and BatchNorm3d, and the functional form.
#include "tandem/nn/layers/batch_norm.h"

#include <ostream>

#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/nn/running_statistics.h"
#include "tandem/nn/functional/norm.h"
#include "tandem/nn/layers/norm_members.h"

namespace tandem::nn::functional {

Tensor batch_norm(const Tensor& input, const Tensor& running_mean, const Tensor& running_var,
                  const BatchNormFuncOptions& options) {
  check(options.momentum().has_value() || !options.training() || !running_mean.defined(),
        "batch_norm: updating running statistics requires a momentum");
  return tandem::batch_norm(input, options.weight(), options.bias(), running_mean, running_var, options.training(),
                            options.momentum().value_or(0), options.eps());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {
namespace {
template <class Derived>
constexpr const char* batch_norm_name() {
  if (std::is_same_v<Derived, BatchNorm1dImpl>) return "BatchNorm1d";
  return std::is_same_v<Derived, BatchNorm2dImpl> ? "BatchNorm2d" : "BatchNorm3d";
}
}  // namespace

template <class Derived>
BatchNormImplBase<Derived>::BatchNormImplBase(const BatchNormOptions& options) : options(options) {
  check(options.num_features() > 0, "BatchNorm: num_features must be positive, got ", options.num_features());
  BatchNormImplBase::reset();
}

template <class Derived>
void BatchNormImplBase<Derived>::reset() {
  if (folded_rank != 0) return fold(folded_rank);
  detail::register_affine(*this, weight, bias, {options.num_features()}, options.affine());
  detail::register_running_stats(*this);
  reset_parameters();
}

template <class Derived>
void BatchNormImplBase<Derived>::fold(int rank) {
  folded_rank = rank;
  this->parameters_.clear();
  this->buffers_.clear();
  for (Tensor* t : {&weight, &bias, &running_mean, &running_var, &num_batches_tracked}) *t = {};
}

template <class Derived>
void BatchNormImplBase<Derived>::reset_running_stats() {
  if (folded_rank != 0 || !options.track_running_stats()) return;
  init::zeros_(running_mean);
  init::ones_(running_var);
  init::zeros_(num_batches_tracked);
}
template <class Derived>
void BatchNormImplBase<Derived>::reset_parameters() {
  reset_running_stats();
  detail::reset_affine(weight, bias);
}

template <class Derived>
void BatchNormImplBase<Derived>::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::" << batch_norm_name<Derived>() << "(" << options.num_features() << ", eps=" << options.eps()
         << ", momentum=";
  if (options.momentum())
    stream << *options.momentum();
  else
    stream << "None";
  stream << ", affine=" << (options.affine() ? "true" : "false")
         << ", track_running_stats=" << (options.track_running_stats() ? "true" : "false")
         << (folded_rank != 0 ? ", folded" : "") << ")";
}

template <class Derived>
Tensor BatchNormImplBase<Derived>::forward(const Tensor& input) {
  constexpr bool one = std::is_same_v<Derived, BatchNorm1dImpl>;
  if constexpr (one)
    check(input.dim() == 2 || input.dim() == 3, "BatchNorm1d: input must be [N, C] or [N, C, L], got ", input);
  else if constexpr (std::is_same_v<Derived, BatchNorm2dImpl>)
    check(input.dim() == 4, "BatchNorm2d: input must be [N, C, H, W], got ", input);
  else
    check(input.dim() == 5, "BatchNorm3d: input must be [N, C, D, H, W], got ", input);
  if (folded_rank != 0) {
    check(!this->is_training(), batch_norm_name<Derived>(),
          ": nn::fuse has folded this layer into the one before it, so it cannot train; call eval(), or "
          "train the model "
          "before it is fused");
    check(input.dim() == folded_rank, batch_norm_name<Derived>(), ": nn::fuse has folded this layer for inputs of ",
          folded_rank, " dimensions, got ", input);
    return input;
  }
  const bool training = this->is_training() || !running_mean.defined();
  if (normalize)
    return normalize({input, weight, bias, running_mean, running_var, num_batches_tracked, training, options.momentum(),
                      options.eps()});
  return autograd::batch_norm_tracked(input, weight, bias, running_mean, running_var, num_batches_tracked, training,
                                      options.momentum(), options.eps());
}

template class BatchNormImplBase<BatchNorm1dImpl>;
template class BatchNormImplBase<BatchNorm2dImpl>;
template class BatchNormImplBase<BatchNorm3dImpl>;

}  // namespace tandem::nn
