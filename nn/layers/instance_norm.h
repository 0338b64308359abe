// GroupNorm, InstanceNorm1d, InstanceNorm2d, LocalResponseNorm.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Normalises each of num_groups groups of channels of [N, C, ...] (Y. Wu, K. He, 2018); weight and bias [C].
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels)
      : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  GroupNormOptions options;
  Tensor weight, bias;
};
TANDEM_MODULE(GroupNorm);

/// Base of both: normalises each channel of each sample separately (D. Ulyanov et al., arXiv:1607.08022).
/// With track_running_stats, evaluation mode uses the running statistics.
template <class Derived>
class InstanceNormImplBase : public Cloneable<Derived> {
 public:
  explicit InstanceNormImplBase(const InstanceNormOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  InstanceNormOptions options;
  Tensor weight, bias, running_mean, running_var, num_batches_tracked;
};
/// [N, C, L] or [C, L].
class InstanceNorm1dImpl : public InstanceNormImplBase<InstanceNorm1dImpl> {
 public:
  explicit InstanceNorm1dImpl(const InstanceNorm1dOptions& options) : InstanceNormImplBase(options) {}
};
TANDEM_MODULE(InstanceNorm1d);
/// [N, C, H, W] or [C, H, W].
class InstanceNorm2dImpl : public InstanceNormImplBase<InstanceNorm2dImpl> {
 public:
  explicit InstanceNorm2dImpl(const InstanceNorm2dOptions& options) : InstanceNormImplBase(options) {}
};
TANDEM_MODULE(InstanceNorm2d);

/// Normalises across neighbouring channels of [N, C, L, ...].
class LocalResponseNormImpl : public detail::Optioned<LocalResponseNormImpl, LocalResponseNormOptions> {
 public:
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options) : Optioned(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LocalResponseNorm);

}  // namespace tandem::nn
