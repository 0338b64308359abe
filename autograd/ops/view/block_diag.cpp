// block_diag: copies the tensors into windows of a tensor of zeros.
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/view/diag.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {

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

}  // namespace tandem
