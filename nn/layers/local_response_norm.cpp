// LocalResponseNorm with its functional form, and CrossMapLRN2d.
#include "tandem/nn/layers/local_response_norm.h"

#include "tandem/autograd/ops/nn/normalization.h"
#include "tandem/autograd/ops/nn/pad.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/nn/functional/norm.h"
#include "tandem/nn/layers/print.h"

namespace tandem::nn::functional {

Tensor local_response_norm(const Tensor& input, const LocalResponseNormFuncOptions& options) {
  return tandem::local_response_norm(input, options.size(), options.alpha(), options.beta(), options.k());
}

}  // namespace tandem::nn::functional

namespace tandem::nn {

Tensor LocalResponseNormImpl::forward(const Tensor& input) { return functional::local_response_norm(input, options); }
TANDEM_PRINTED_AS(LocalResponseNorm, options.size(), ", alpha=", options.alpha(), ", beta=", options.beta(),
                  ", k=", options.k())

Tensor CrossMapLRN2dImpl::forward(const Tensor& input) {
  check(input.dim() == 4, "CrossMapLRN2d: expected [N, C, H, W], got ", input);
  check(options.size() > 0, "CrossMapLRN2d: size must be positive, got ", options.size());
  const int64_t side = (options.size() - 1) / 2, rest = input.size(1) - side - 1;
  const Tensor squares = input * input;
  Tensor sums = constant_pad_nd(squares, {0, 0, 0, 0, side, side}).unfold(1, 2 * side + 1, 1).sum(IntArrayRef(-1));
  if (rest > 0)  // as in PyTorch, the first channel stays in every later window
    sums = cat({sums.narrow(1, 0, side + 1), sums.narrow(1, side + 1, rest) + squares.narrow(1, 0, 1)}, 1);
  const double scale = options.alpha() / static_cast<double>(options.size());
  return input / (sums * scale + static_cast<double>(options.k())).pow(Scalar(options.beta()));
}
TANDEM_PRINTED_AS(CrossMapLRN2d, options.size(), ", alpha=", options.alpha(), ", beta=", options.beta(),
                  ", k=", options.k())

}  // namespace tandem::nn
