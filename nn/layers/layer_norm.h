// LayerNorm, RMSNorm and GroupNorm.
#pragma once
#include "tandem/nn/cloneable.h"
#include "tandem/nn/module_holder.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Normalises over the last dimensions, which must match normalized_shape, the shape of weight and bias (J.
/// L. Ba et al.: Layer normalization. 2016).
class LayerNormImpl : public Cloneable<LayerNormImpl> {
 public:
  LayerNormImpl(std::vector<int64_t> normalized_shape) : LayerNormImpl(LayerNormOptions(std::move(normalized_shape))) {}
  explicit LayerNormImpl(LayerNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  LayerNormOptions options;
  Tensor weight, bias;
};
TANDEM_MODULE(LayerNorm);

/// Divides by the root of the mean square over the last dimensions, which must match normalized_shape, the shape of
/// weight (B. Zhang, R. Sennrich: Root mean square layer normalization. 2019).
class RMSNormImpl : public Cloneable<RMSNormImpl> {
 public:
  RMSNormImpl(std::vector<int64_t> normalized_shape) : RMSNormImpl(RMSNormOptions(std::move(normalized_shape))) {}
  explicit RMSNormImpl(RMSNormOptions options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  RMSNormOptions options;
  Tensor weight;
};
TANDEM_MODULE(RMSNorm);

/// Normalises each of num_groups groups of channels of [N, C, ...] (Y. Wu, K. He, 2018); weight and bias [C].
class GroupNormImpl : public Cloneable<GroupNormImpl> {
 public:
  GroupNormImpl(int64_t num_groups, int64_t num_channels) : GroupNormImpl(GroupNormOptions(num_groups, num_channels)) {}
  explicit GroupNormImpl(const GroupNormOptions& options);
  void reset() override;
  void reset_parameters();
  void pretty_print(std::ostream& stream) const override;
  Tensor forward(const Tensor& input);
  GroupNormOptions options;
  Tensor weight, bias;
};
TANDEM_MODULE(GroupNorm);

}  // namespace tandem::nn
