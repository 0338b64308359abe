// InstanceNorm1d, InstanceNorm2d and InstanceNorm3d.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Base of the three: normalises each channel of each sample separately (D. Ulyanov et al., arXiv:1607.08022).
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
  explicit InstanceNorm1dImpl(const InstanceNorm1dOptions& options_) : InstanceNormImplBase(options_) {}
};
TANDEM_MODULE(InstanceNorm1d);
/// [N, C, H, W] or [C, H, W].
class InstanceNorm2dImpl : public InstanceNormImplBase<InstanceNorm2dImpl> {
 public:
  explicit InstanceNorm2dImpl(const InstanceNorm2dOptions& options_) : InstanceNormImplBase(options_) {}
};
TANDEM_MODULE(InstanceNorm2d);
/// [N, C, D, H, W] or [C, D, H, W].
class InstanceNorm3dImpl : public InstanceNormImplBase<InstanceNorm3dImpl> {
 public:
  explicit InstanceNorm3dImpl(const InstanceNorm3dOptions& options_) : InstanceNormImplBase(options_) {}
};
TANDEM_MODULE(InstanceNorm3d);

}  // namespace tandem::nn
