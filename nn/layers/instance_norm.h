// InstanceNorm1d, InstanceNorm2d and InstanceNorm3d.
#pragma once
#include "tandem/nn/layers/layer.h"
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
TANDEM_DERIVED_LAYER(InstanceNorm1d, InstanceNormImplBase);
TANDEM_MODULE(InstanceNorm1d);
/// [N, C, H, W] or [C, H, W].
TANDEM_DERIVED_LAYER(InstanceNorm2d, InstanceNormImplBase);
TANDEM_MODULE(InstanceNorm2d);
/// [N, C, D, H, W] or [C, D, H, W].
TANDEM_DERIVED_LAYER(InstanceNorm3d, InstanceNormImplBase);
TANDEM_MODULE(InstanceNorm3d);

}  // namespace tandem::nn
