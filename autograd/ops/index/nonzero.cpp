// nonzero and argwhere.
#include "tandem/autograd/ops/index/index.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/index.h"

namespace tandem {
using namespace autograd;

Tensor nonzero(const Tensor& self) {
  if (self.is_complex()) return nonzero(self.detach().to(kBool));
  const auto& kernels = backend(self).index;
  Tensor out = empty_raw({kernels.count_nonzero(self), self.dim()}, kLong, self.device());
  kernels.nonzero(out, self);
  return out;
}
Tensor Tensor::nonzero() const { return tandem::nonzero(*this); }
Tensor argwhere(const Tensor& self) { return tandem::nonzero(self); }
Tensor Tensor::argwhere() const { return tandem::nonzero(*this); }

}  // namespace tandem
