// LocalResponseNorm, and the functional form.
#include "tandem/nn/layers/local_response_norm.h"

#include <ostream>

#include "tandem/autograd/ops/normalization.h"
#include "tandem/nn/functional/norm.h"

namespace tandem::nn::functional {

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  return tandem::local_response_norm(input, options.size(), options.alpha(), options.beta(), options.k());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

Tensor LocalResponseNormImpl::forward(const Tensor& input) {
  return functional::local_response_norm(input, options);
}
void LocalResponseNormImpl::pretty_print(std::ostream& stream) const {
  stream << "tandem::nn::LocalResponseNorm(" << options.size() << ", alpha=" << options.alpha()
         << ", beta=" << options.beta() << ", k=" << options.k() << ")";
}

}  // namespace tandem::nn
