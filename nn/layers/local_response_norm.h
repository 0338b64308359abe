// LocalResponseNorm and CrossMapLRN2d.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Normalises across neighbouring channels of [N, C, L, ...].
class LocalResponseNormImpl : public detail::Optioned<LocalResponseNormImpl, LocalResponseNormOptions> {
 public:
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LocalResponseNorm);

/// The same for [N, C, H, W], except that the window has (size - 1) / 2 channels on either side, for even sizes too,
/// and that windows which have left the first channel behind still contain it, as in PyTorch.
class CrossMapLRN2dImpl : public detail::Optioned<CrossMapLRN2dImpl, CrossMapLRN2dOptions> {
 public:
  CrossMapLRN2dImpl(int64_t size) : CrossMapLRN2dImpl(CrossMapLRN2dOptions(size)) {}
  explicit CrossMapLRN2dImpl(const CrossMapLRN2dOptions& options_) : Optioned(options_) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(CrossMapLRN2d);

}  // namespace tandem::nn
