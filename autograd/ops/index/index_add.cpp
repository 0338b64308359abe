// index_add. Gradients: g for self; alpha g[index] for source.
#include "tandem/autograd/ops/index/index_add.h"

#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

AdvancedIndex checked(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check(self.dtype() == source.dtype(), "index_add: dtypes differ\n  self   ", self, "\n  source ", source);
  check(self.device() == source.device(), "index_add: devices differ\n  self   ", self, "\n  source ", source);
  Dims expected(self.sizes());
  if (!expected.empty()) expected[static_cast<std::size_t>(dim)] = index.numel();
  check(Dims(source.sizes()) == expected, "index_add: source must be ", expected, ", got ", source, "\n  self  ", self,
        "\n  index ", index);
  return along("index_add", self, dim, index, /*wrap=*/false);
}

Tensor scaled(const Tensor& source, const Scalar& alpha) { return alpha.equal(1) ? source : source * alpha; }

}  // namespace

Tensor index_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) {
  dim = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return index_add(self.reshape({1}), 0, index, source.reshape({1}), alpha).reshape({});
  return index_write(self, checked(self, dim, index, source), scaled(source, alpha), /*accumulate=*/true);
}

Tensor Tensor::index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  return tandem::index_add(*this, dim, index, source, alpha);
}
Tensor& Tensor::index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha) const {
  dim = wrap_dim(dim, this->dim());
  if (this->dim() == 0) {
    unsqueeze(0).index_add_(0, index, source.reshape({1}), alpha);
    return tandem::detail::mutable_handle(*this);
  }
  return index_write_(*this, checked(*this, dim, index, source), scaled(source, alpha), /*accumulate=*/true);
}

}  // namespace tandem
