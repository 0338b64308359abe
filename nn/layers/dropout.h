// Dropout, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout.
#pragma once
#include "tandem/nn/layers/activation.h"

namespace tandem::nn {

/// During training, zeroes each element with probability p and divides the others by 1 - p.
class DropoutImpl : public detail::Optioned<DropoutImpl, DropoutOptions> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit DropoutImpl(const DropoutOptions& options = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Dropout);

/// Dropout of whole planes: zeroes entries [n, c] of [N, C, H, W].
class Dropout2dImpl : public detail::Optioned<Dropout2dImpl, Dropout2dOptions> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit Dropout2dImpl(const Dropout2dOptions& options = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Dropout2d);

/// Dropout of whole volumes: zeroes entries [n, c] of [N, C, D, H, W].
class Dropout3dImpl : public detail::Optioned<Dropout3dImpl, Dropout3dOptions> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit Dropout3dImpl(const Dropout3dOptions& options = {});
  void reset() override;
  Tensor forward(Tensor input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(Dropout3d);

/// Dropout for SELU, which keeps mean and variance (see alpha_dropout).
class AlphaDropoutImpl : public detail::Optioned<AlphaDropoutImpl, AlphaDropoutOptions> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit AlphaDropoutImpl(const AlphaDropoutOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(AlphaDropout);

/// AlphaDropout of whole channels of [N, C, ...].
class FeatureAlphaDropoutImpl : public detail::Optioned<FeatureAlphaDropoutImpl, FeatureAlphaDropoutOptions> {
 public:
  /// Throws Error unless p is in [0, 1].
  explicit FeatureAlphaDropoutImpl(const FeatureAlphaDropoutOptions& options = {});
  void reset() override;
  Tensor forward(const Tensor& input);
  void pretty_print(std::ostream& stream) const override;
};
TANDEM_MODULE(FeatureAlphaDropout);

}  // namespace tandem::nn
