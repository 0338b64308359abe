// kron, the Kronecker product: a broadcast product, reshaped.
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {

Tensor kron(const Tensor& self, const Tensor& other) {
  const std::size_t rank = std::max(self.sizes().size(), other.sizes().size());
  Dims a, b, out;
  for (std::size_t d = 0; d < rank; ++d) {
    const auto at = [&](const Tensor& t) {
      const std::size_t extra = rank - t.sizes().size();
      return d < extra ? int64_t{1} : t.sizes()[d - extra];
    };
    a.push_back(at(self));
    a.push_back(1);
    b.push_back(1);
    b.push_back(at(other));
    out.push_back(at(self) * at(other));
  }
  return (self.reshape(a) * other.reshape(b)).reshape(out);
}

Tensor Tensor::kron(const Tensor& other) const { return tandem::kron(*this, other); }

}  // namespace tandem
