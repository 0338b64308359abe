// index_select. Gradient: zeros with g added at the index.
#include "tandem/autograd/ops/index/index_select.h"

#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/record.h"

namespace tandem {

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index) {
  dim = wrap_dim(dim, self.dim());
  if (self.dim() == 0) {
    check(index.numel() == 1, "index_select: a 0-dim tensor takes one index, got ", index);
    return index_select(self.reshape({1}), 0, index).reshape({});
  }
  return autograd::index_read(self, autograd::along("index_select", self, dim, index, /*wrap=*/false));
}

Tensor Tensor::index_select(int64_t dim, const Tensor& index) const { return tandem::index_select(*this, dim, index); }

}  // namespace tandem
