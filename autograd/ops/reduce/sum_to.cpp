// sum_to_size, composed of sum and view.
#include "tandem/autograd/ops/reduce/sum_to.h"

namespace tandem {

bool detail::broadcasts(IntArrayRef size, IntArrayRef wide) {
  if (size.size() > wide.size()) return false;
  const std::size_t extra = wide.size() - size.size();
  for (std::size_t d = 0; d < size.size(); ++d)
    if (size[d] != 1 && size[d] != wide[extra + d]) return false;
  return true;
}

Tensor sum_to_size(const Tensor& self, IntArrayRef size, const char* operation) {
  if (self.sizes() == size) return self;
  check(detail::broadcasts(size, self.sizes()), operation, ": shape ", size, " does not broadcast to ", self.sizes());
  const std::size_t n = self.sizes().size(), extra = n - size.size();
  Dims dims;
  for (std::size_t d = 0; d < n; ++d)
    if (d < extra || size[d - extra] != self.sizes()[d]) dims.push_back(static_cast<int64_t>(d));
  return self.sum(dims, /*keepdim=*/true).view(size);
}

Tensor Tensor::sum_to_size(IntArrayRef size) const { return tandem::sum_to_size(*this, size); }

}  // namespace tandem
