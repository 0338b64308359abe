// cartesian_prod: all points of a meshgrid. combinations: the points with increasing positions, or non-decreasing
// positions with replacement.
#include "tandem/autograd/ops/view/combinations.h"

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {

template <class F>
std::vector<Tensor> each(TensorList tensors, const F& f) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

}  // namespace

Tensor cartesian_prod(TensorList tensors) {
  for (const Tensor& t : tensors) check(t.dim() == 1, "cartesian_prod: expected vectors, got ", t);
  if (tensors.size() == 1) return tensors[0];
  return stack(each(meshgrid(tensors), [](const Tensor& t) { return t.flatten(); }), 1);
}

Tensor combinations(const Tensor& self, int64_t r, bool with_replacement) {
  check(self.dim() == 1, "combinations: expected a vector, got ", self);
  check(r >= 0 && r <= kMaxDims, "combinations: expected r from 0 to ", kMaxDims, ", got ", r);
  if (r == 0) return empty({0}, self.options());
  const Tensor positions = arange(self.numel(), TensorOptions(kLong).device(self.device()));
  const auto grids = meshgrid(std::vector<Tensor>(static_cast<std::size_t>(r), positions));
  Tensor keep = ones(Dims(static_cast<std::size_t>(r), self.numel()), self.options().dtype(kBool));
  for (std::size_t i = 1; i < grids.size(); ++i)
    keep = logical_and(keep, with_replacement ? grids[i - 1] <= grids[i] : grids[i - 1] < grids[i]);
  const auto chosen = each(grids, [&](const Tensor& g) { return self.index_select(0, g.masked_select(keep)); });
  return stack(chosen, 1);
}

}  // namespace tandem
