// Checks of the gradients that a node returns.
#include "tandem/autograd/node_checks.h"

#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/reduce/sum_to.h"

namespace tandem::autograd {

void validate(Tensor& grad, const OutputInfo& info, const char* from, std::size_t index) {
  if (!grad.defined()) return;
  if (grad.sizes() != IntArrayRef(info.sizes)) {
    check(tandem::detail::broadcasts(info.sizes, grad.sizes()), from, ": returned an invalid gradient at index ", index,
          ": got ", grad, ", expected a shape compatible with ", info.sizes);
    grad = sum_to_size(grad, info.sizes, from);
  }
  if (grad.is_complex() && !is_complex(info.dtype)) grad = real(grad);
  if (grad.dtype() != info.dtype) grad = grad.to(info.dtype);
  // A 0-dim tensor may be combined with tensors on another device.
  if (grad.device() != info.device && grad.dim() == 0) grad = grad.to(info.device);
  check(grad.device() == info.device, from, ": returned a gradient on ", grad.device(), " for a tensor on ",
        info.device);
}

}  // namespace tandem::autograd
