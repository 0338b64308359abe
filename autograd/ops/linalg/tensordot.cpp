// tensordot and inner: matrix products of permuted and reshaped tensors.
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"

namespace tandem {
namespace {
using namespace autograd;

// The dimensions not in `mask`, followed or preceded by `dims`.
Dims order_of(int64_t rank, uint32_t mask, IntArrayRef dims, bool behind) {
  Dims out;
  if (!behind)
    for (const int64_t d : dims) out.push_back(wrap_dim(d, rank));
  for (int64_t d = 0; d < rank; ++d)
    if ((mask >> d & 1u) == 0) out.push_back(d);
  if (behind)
    for (const int64_t d : dims) out.push_back(wrap_dim(d, rank));
  return out;
}

}  // namespace

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  if (const auto to = autocast::promoted_on_cuda(self, other))
    return tensordot(to(self), to(other), dims_self, dims_other);
  check(dims_self.size() == dims_other.size(), "tensordot: dimensions ", dims_self, " and ", dims_other,
        " differ in length");
  const uint32_t mask_self = dim_mask(dims_self, self.dim(), false),
                 mask_other = dim_mask(dims_other, other.dim(), false);
  int64_t summed = 1;
  for (std::size_t i = 0; i < dims_self.size(); ++i) {
    check(self.size(dims_self[i]) == other.size(dims_other[i]), "tensordot: sizes of dimensions ", dims_self[i],
          " and ", dims_other[i], " differ\n  self  ", self, "\n  other ", other);
    summed *= self.size(dims_self[i]);
  }
  const Tensor a = self.permute(order_of(self.dim(), mask_self, dims_self, true)),
               b = other.permute(order_of(other.dim(), mask_other, dims_other, false));
  Dims sizes;
  int64_t rows = 1, columns = 1;
  const auto count = static_cast<int64_t>(dims_self.size());
  for (int64_t d = 0; d < a.dim() - count; ++d) {
    rows *= a.size(d);
    sizes.push_back(a.size(d));
  }
  for (int64_t d = count; d < b.dim(); ++d) {
    columns *= b.size(d);
    sizes.push_back(b.size(d));
  }
  return a.reshape({rows, summed}).mm(b.reshape({summed, columns})).reshape(sizes);
}

Tensor inner(const Tensor& self, const Tensor& other) {
  if (self.dim() == 0 || other.dim() == 0) return self * other;
  return tensordot(self, other, {-1}, {-1});
}

Tensor Tensor::inner(const Tensor& other) const { return tandem::inner(*this, other); }

}  // namespace tandem
