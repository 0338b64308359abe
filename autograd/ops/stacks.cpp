// Composites of cat, stack and meshgrid.
#include "tandem/autograd/ops/stacks.h"

#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/comparison.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/index.h"
#include "tandem/autograd/ops/promotion.h"
#include "tandem/autograd/ops/view.h"
#include "tandem/core/checked_sizes.h"

namespace tandem {
namespace {

template <class F>
std::vector<Tensor> each(TensorList tensors, const F& f) {
  std::vector<Tensor> out;
  for (const Tensor& t : tensors) out.push_back(f(t));
  return out;
}

}  // namespace

Tensor atleast_1d(const Tensor& self) { return self.dim() >= 1 ? self : self.reshape({1}); }
Tensor atleast_2d(const Tensor& self) { return self.dim() >= 2 ? self : atleast_1d(self).unsqueeze(0); }
Tensor atleast_3d(const Tensor& self) { return self.dim() >= 3 ? self : atleast_2d(self).unsqueeze(-1); }

Tensor column_stack(TensorList tensors) {
  return hstack(each(tensors, [](const Tensor& t) { return t.dim() <= 1 ? t.reshape({t.numel(), 1}) : t; }));
}
Tensor dstack(TensorList tensors) { return cat(each(tensors, atleast_3d), 2); }

Tensor block_diag(TensorList tensors) {
  check(!tensors.empty(), "block_diag: expected at least one tensor");
  int64_t rows = 0, columns = 0;
  for (const Tensor& t : tensors) {
    check(t.dim() <= 2, "block_diag: expected at most 2 dimensions, got ", t);
    rows = add_sizes("block_diag", rows, t.dim() == 2 ? t.size(0) : 1);
    columns = add_sizes("block_diag", columns, t.dim() == 0 ? 1 : t.size(-1));
  }
  Tensor out = zeros({rows, columns}, tensors[0].options().dtype(result_type(tensors)));
  rows = columns = 0;
  for (const Tensor& t : tensors) {
    const Tensor block = atleast_2d(t);
    out.narrow(0, rows, block.size(0)).narrow(1, columns, block.size(1)).copy_(block);
    rows += block.size(0);
    columns += block.size(1);
  }
  return out;
}

std::vector<Tensor> broadcast_tensors(TensorList tensors) {
  Dims sizes;
  for (const Tensor& t : tensors) sizes = broadcast_sizes(sizes, t.sizes(), "broadcast_tensors");
  return each(tensors, [&](const Tensor& t) { return t.expand(sizes); });
}

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
  const auto chosen =
      each(grids, [&](const Tensor& g) { return self.index_select(0, g.masked_select(keep)); });
  return stack(chosen, 1);
}

}  // namespace tandem
