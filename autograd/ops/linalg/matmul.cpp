// matmul, mv, dot, outer: reshaped to mm or bmm. A batch on the left of a single matrix is folded into rows;
// a broadcast batch is an expanded view, so a single matrix serves the whole batch without a copy.
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

// [..., M, K] as [B, M, K], expanded to the shape `batch`.
Tensor as_batch(const Tensor& t, const Dims& batch) {
  const int64_t m = t.size(-2), k = t.size(-1);
  if (t.dim() == 2) return t.view({1, m, k}).expand({checked_numel(batch), m, k});
  return t.expand(matrix_sizes(batch, m, k)).reshape({checked_numel(batch), m, k});
}

// Both operands have at least two dimensions.
Tensor matmul_matrices(const Tensor& a, const Tensor& b) {
  if (a.dim() == 2 && b.dim() == 2) return mm(a, b);
  if (b.dim() == 2) {
    Dims sizes(a.sizes());
    sizes.back() = b.size(1);
    const int64_t rows = checked_numel(IntArrayRef(a.sizes()).slice(0, a.sizes().size() - 1));
    return mm(a.reshape({rows, a.size(-1)}), b).view(sizes);
  }
  const Dims batch = broadcast_sizes(batch_sizes(a), batch_sizes(b), "matmul");
  return bmm(as_batch(a, batch), as_batch(b, batch)).view(matrix_sizes(batch, a.size(-2), b.size(-1)));
}

}  // namespace

Tensor matmul(const Tensor& self, const Tensor& other) {
  if (const auto to = autocast::lower_precision(self)) return matmul(to(self), to(other));
  const int64_t n = self.dim(), m = other.dim();
  check(n > 0 && m > 0, "matmul: both operands must have at least one dimension\n  self  ", self, "\n  other ", other);
  const int64_t inner = m == 1 ? other.size(0) : other.size(-2);
  check(self.size(-1) == inner, "matmul: inner sizes differ: ", self.size(-1), " and ", inner, "\n  self  ", self,
        "\n  other ", other);
  check_alike("matmul", "self ", self, "other", other);
  if (n == 1 && m == 1) return dot(self, other);
  if (n == 2 && m == 1) return mv(self, other);
  const Tensor a = n == 1 ? self.reshape({1, inner}) : self, b = m == 1 ? other.reshape({inner, 1}) : other;
  Tensor out = matmul_matrices(a, b);
  if (n > 1 && m > 1) return out;
  Dims sizes(out.sizes());
  if (n == 1)
    sizes.erase(sizes.size() - 2);
  else
    sizes.pop_back();
  return out.view(sizes);
}

Tensor mv(const Tensor& self, const Tensor& vec) {
  if (const auto to = autocast::lower_precision_or_unchanged(self)) return mv(to(self), to(vec));
  check(self.dim() == 2 && vec.dim() == 1, "mv: expected a matrix and a vector\n  self ", self, "\n  vec  ", vec);
  check(self.size(1) == vec.size(0), "mv: inner sizes differ: ", self.size(1), " and ", vec.size(0), "\n  self ", self,
        "\n  vec  ", vec);
  check_alike("mv", "self", self, "vec ", vec);
  return mm(self, vec.reshape({vec.size(0), 1})).view({self.size(0)});
}

Tensor dot(const Tensor& self, const Tensor& other) {
  if (const auto to = autocast::promoted_or_unchanged(self, other)) return dot(to(self), to(other));
  check(self.dim() == 1 && other.dim() == 1, "dot: expected two vectors\n  self  ", self, "\n  other ", other);
  check(self.size(0) == other.size(0), "dot: sizes differ: ", self.size(0), " and ", other.size(0), "\n  self  ", self,
        "\n  other ", other);
  check_alike("dot", "self ", self, "other", other);
  return mm(self.reshape({1, self.size(0)}), other.reshape({self.size(0), 1})).view(IntArrayRef{});
}

Tensor vdot(const Tensor& self, const Tensor& other) { return dot(conj(self), other); }

Tensor outer(const Tensor& self, const Tensor& other) {
  check(self.dim() == 1 && other.dim() == 1, "outer: expected two vectors\n  self  ", self, "\n  other ", other);
  return self.reshape({self.size(0), 1}) * other.reshape({1, other.size(0)});
}

Tensor Tensor::matmul(const Tensor& other) const { return tandem::matmul(*this, other); }
Tensor Tensor::mv(const Tensor& vec) const { return tandem::mv(*this, vec); }
Tensor Tensor::dot(const Tensor& other) const { return tandem::dot(*this, other); }
Tensor Tensor::vdot(const Tensor& other) const { return tandem::vdot(*this, other); }
Tensor Tensor::outer(const Tensor& other) const { return tandem::outer(*this, other); }

}  // namespace tandem
