// sum_to_size, composed of sum and view.
#include "tandem/autograd/ops/sum_to.h"

#include "tandem/autograd/ops/reduce.h"

namespace tandem {

Tensor sum_to_size(const Tensor& self, IntArrayRef size, const char* operation) {
  if (self.sizes() == size) return self;
  const std::size_t n = self.sizes().size(), extra = n - size.size();
  check(size.size() <= n, operation, ": shape ", size, " does not broadcast to ", self.sizes());
  Dims dims;
  for (std::size_t d = 0; d < n; ++d) {
    const bool expanded = d < extra || (size[d - extra] == 1 && self.sizes()[d] != 1);
    check(expanded || size[d - extra] == self.sizes()[d], operation, ": shape ", size,
          " does not broadcast to ", self.sizes());
    if (expanded) dims.push_back(static_cast<int64_t>(d));
  }
  return self.sum(dims, /*keepdim=*/true).view(size);
}

Tensor Tensor::sum_to_size(IntArrayRef size) const { return tandem::sum_to_size(*this, size); }

}  // namespace tandem
