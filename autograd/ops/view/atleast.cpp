// atleast_1d, atleast_2d and atleast_3d.
#include "tandem/autograd/ops/view/view.h"

namespace tandem {

Tensor atleast_1d(const Tensor& self) { return self.dim() >= 1 ? self : self.reshape({1}); }
Tensor atleast_2d(const Tensor& self) { return self.dim() >= 2 ? self : atleast_1d(self).unsqueeze(0); }
Tensor atleast_3d(const Tensor& self) { return self.dim() >= 3 ? self : atleast_2d(self).unsqueeze(-1); }

}  // namespace tandem
