// Dropout, Dropout2d, Dropout3d, AlphaDropout, FeatureAlphaDropout.
#pragma once
#include "tandem/nn/layers/layer.h"
#include "tandem/nn/options/activation.h"

namespace tandem::nn {

namespace detail {
/// The constructor and reset() throw Error unless p is in [0, 1].
template <class Derived, class Options>
class DropoutBase : public Optioned<Derived, Options> {
 public:
  explicit DropoutBase(const Options& options_) : Optioned<Derived, Options>(options_) { DropoutBase::reset(); }
  void reset() override {
    const double p = this->options.p();
    check(p >= 0 && p <= 1, "dropout probability must be between 0 and 1, but got ", p);
  }
};
}  // namespace detail

/// During training, zeroes each element with probability p and divides the others by 1 - p.
TANDEM_LAYER(Dropout, DropoutBase, = {}, Tensor input);
TANDEM_MODULE(Dropout);

/// Dropout of whole planes: zeroes entries [n, c] of [N, C, H, W].
TANDEM_LAYER(Dropout2d, DropoutBase, = {}, Tensor input);
TANDEM_MODULE(Dropout2d);

/// Dropout of whole volumes: zeroes entries [n, c] of [N, C, D, H, W].
TANDEM_LAYER(Dropout3d, DropoutBase, = {}, Tensor input);
TANDEM_MODULE(Dropout3d);

/// Dropout for SELU, which keeps mean and variance (see alpha_dropout).
TANDEM_LAYER(AlphaDropout, DropoutBase, = {}, const Tensor& input);
TANDEM_MODULE(AlphaDropout);

/// AlphaDropout of whole channels of [N, C, ...].
TANDEM_LAYER(FeatureAlphaDropout, DropoutBase, = {}, const Tensor& input);
TANDEM_MODULE(FeatureAlphaDropout);

}  // namespace tandem::nn
