// Checks of the gradients that a node returns.
#include "tandem/autograd/node_checks.h"

#include "tandem/autograd/ops/sum_to.h"

namespace tandem::autograd {

namespace {
// Whether a tensor of shape `sizes` broadcasts to `wide`.
bool broadcasts(IntArrayRef sizes, IntArrayRef wide) {
  if (sizes.size() > wide.size()) return false;
  const std::size_t skip = wide.size() - sizes.size();
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1 && sizes[d] != wide[skip + d]) return false;
  return true;
}
}  // namespace

void validate(Tensor& grad, const OutputInfo& info, const char* from, std::size_t index) {
  if (!grad.defined()) return;
  if (grad.sizes() != IntArrayRef(info.sizes)) {
    check(broadcasts(info.sizes, grad.sizes()), from, ": returned an invalid gradient at index ", index,
          ": got ", grad, ", expected a shape compatible with ", info.sizes);
    grad = sum_to_size(grad, info.sizes, from);
  }
  if (grad.dtype() != info.dtype) grad = grad.to(info.dtype);
  // A 0-dim tensor may be combined with tensors on another device.
  if (grad.device() != info.device && grad.dim() == 0) grad = grad.to(info.device);
  check(grad.device() == info.device, from, ": returned a gradient on ", grad.device(), " for a tensor on ",
        info.device);
}

}  // namespace tandem::autograd
