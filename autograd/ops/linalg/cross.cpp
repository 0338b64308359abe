// cross: the vector product of 3-element vectors.
#include "tandem/autograd/ops/detail/precision.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {

// a × b = (a₂b₃ - a₃b₂, …), computed from both vectors rolled by one and by two.
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim) {
  if (const auto to = autograd::promoted_on_cuda(self, other)) return to.rounded(cross(to(self), to(other), dim));
  const Dims sizes = broadcast_sizes(self.sizes(), other.sizes(), "cross");
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t d = dim ? wrap_dim(*dim, rank) : 0;
  while (!dim && d < rank && sizes[static_cast<std::size_t>(d)] != 3) ++d;
  check(rank > 0 && d < rank && sizes[static_cast<std::size_t>(d)] == 3,
        "cross: expected a dimension of size 3\n  self  ", self, "\n  other ", other);
  const Tensor a = self.expand(sizes), b = other.expand(sizes);
  return a.roll({-1}, {d}) * b.roll({-2}, {d}) - a.roll({-2}, {d}) * b.roll({-1}, {d});
}

Tensor Tensor::cross(const Tensor& other, optional<int64_t> dim) const { return tandem::cross(*this, other, dim); }

}  // namespace tandem
