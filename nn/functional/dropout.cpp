// Functional forms of dropout.
#include "tandem/nn/functional/dropout.h"

#include "tandem/autograd/ops/dropout.h"

namespace tandem::nn::functional {

Tensor dropout(Tensor input, const DropoutFuncOptions& options) {
  if (options.inplace()) return tandem::dropout_(input, options.p(), options.training());
  return tandem::dropout(input, options.p(), options.training());
}
Tensor dropout2d(Tensor input, const Dropout2dFuncOptions& options) {
  if (options.inplace()) return tandem::feature_dropout_(input, options.p(), options.training());
  return tandem::feature_dropout(input, options.p(), options.training());
}
Tensor dropout3d(Tensor input, const Dropout3dFuncOptions& options) {
  return functional::dropout2d(std::move(input), options);
}

}  // namespace tandem::nn::functional
