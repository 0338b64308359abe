// atleast_1d, atleast_2d and atleast_3d.
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {
std::vector<Tensor> each(TensorList tensors, Tensor (*f)(const Tensor&)) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}
}  // namespace

Tensor atleast_1d(const Tensor& self) { return self.dim() >= 1 ? self : self.reshape({1}); }
Tensor atleast_2d(const Tensor& self) { return self.dim() >= 2 ? self : atleast_1d(self).unsqueeze(0); }
Tensor atleast_3d(const Tensor& self) { return self.dim() >= 3 ? self : atleast_2d(self).unsqueeze(-1); }

std::vector<Tensor> atleast_1d(TensorList tensors) { return each(tensors, atleast_1d); }
std::vector<Tensor> atleast_2d(TensorList tensors) { return each(tensors, atleast_2d); }
std::vector<Tensor> atleast_3d(TensorList tensors) { return each(tensors, atleast_3d); }

}  // namespace tandem
