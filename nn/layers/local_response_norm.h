// LocalResponseNorm.
#pragma once
#include "tandem/nn/layers/activation.h"
#include "tandem/nn/options/norm.h"

namespace tandem::nn {

/// Normalises across neighbouring channels of [N, C, L, ...].
class LocalResponseNormImpl : public detail::Optioned<LocalResponseNormImpl, LocalResponseNormOptions> {
 public:
  explicit LocalResponseNormImpl(const LocalResponseNormOptions& options) : Optioned(options) {}
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(LocalResponseNorm);

}  // namespace tandem::nn
