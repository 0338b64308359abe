// Composites of matrix products.
#include "tandem/autograd/ops/products.h"

#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/cat.h"
#include "tandem/autograd/ops/einsum.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/inplace_of.h"
#include "tandem/autograd/ops/linalg.h"
#include "tandem/autograd/ops/view.h"

namespace tandem {
namespace {
using namespace autograd;

// Dimensions not in `mask`, with `dims` behind them or before them.
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

Tensor weighted_sum(const Tensor& self, const Tensor& product, const Scalar& beta, const Scalar& alpha,
                    const char* operation) {
  check(broadcast_sizes(self.sizes(), product.sizes(), operation) == Dims(product.sizes()), operation,
        ": self ", self, " does not broadcast to the product ", product);
  const Tensor scaled = alpha.toDouble() == 1 ? product : product * alpha;
  if (beta.toDouble() == 0) return scaled;
  return (beta.toDouble() == 1 ? self : self * beta) + scaled;
}

}  // namespace

Tensor tensordot(const Tensor& self, const Tensor& other, IntArrayRef dims_self, IntArrayRef dims_other) {
  check(dims_self.size() == dims_other.size(), "tensordot: dimensions ", dims_self, " and ", dims_other,
        " differ in number");
  const uint32_t mask_self = dim_mask(dims_self, self.dim(), false),
                 mask_other = dim_mask(dims_other, other.dim(), false);
  int64_t summed = 1;
  for (std::size_t i = 0; i < dims_self.size(); ++i) {
    check(self.size(dims_self[i]) == other.size(dims_other[i]), "tensordot: sizes of dimensions ",
          dims_self[i], " and ", dims_other[i], " differ\n  self  ", self, "\n  other ", other);
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

// a × b = (a₂b₃ - a₃b₂, …): both turned by one and by two.
Tensor cross(const Tensor& self, const Tensor& other, optional<int64_t> dim) {
  const Dims sizes = broadcast_sizes(self.sizes(), other.sizes(), "cross");
  const auto rank = static_cast<int64_t>(sizes.size());
  int64_t d = dim ? wrap_dim(*dim, rank) : 0;
  while (!dim && d < rank && sizes[static_cast<std::size_t>(d)] != 3) ++d;
  check(rank > 0 && d < rank && sizes[static_cast<std::size_t>(d)] == 3,
        "cross: expected a dimension of size 3\n  self  ", self, "\n  other ", other);
  const Tensor a = self.expand(sizes), b = other.expand(sizes);
  return a.roll({-1}, {d}) * b.roll({-2}, {d}) - a.roll({-2}, {d}) * b.roll({-1}, {d});
}

Tensor addmv(const Tensor& self, const Tensor& mat, const Tensor& vec, const Scalar& beta,
             const Scalar& alpha) {
  return weighted_sum(self, mv(mat, vec), beta, alpha, "addmv");
}
Tensor addr(const Tensor& self, const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return weighted_sum(self, outer(a, b), beta, alpha, "addr");
}

Tensor matrix_power(const Tensor& self, int64_t n) {
  check(self.dim() >= 2 && self.size(-1) == self.size(-2), "matrix_power: expected square matrices, got ",
        self);
  check(n >= 0, "matrix_power: negative powers (inverses) are not there, got ", n);
  if (n == 0) return eye(self.size(-1), self.options()).expand(self.sizes()).clone();
  Tensor square = self, out;
  for (; n > 0; n >>= 1) {
    if (n & 1) out = out.defined() ? out.matmul(square) : square;
    if (n > 1) square = square.matmul(square);
  }
  return out.is_same(self) ? self.clone() : out;
}

Tensor bilinear(const Tensor& input1, const Tensor& input2, const Tensor& weight, const Tensor& bias) {
  check(weight.dim() == 3, "bilinear: weight must be [out, in1, in2], got ", weight);
  const Tensor out = einsum("...a,oab,...b->...o", {input1, weight, input2});
  return bias.defined() ? out + bias : out;
}

Tensor Tensor::addmv(const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) const {
  return tandem::addmv(*this, mat, vec, beta, alpha);
}
Tensor& Tensor::addmv_(const Tensor& mat, const Tensor& vec, const Scalar& beta, const Scalar& alpha) {
  return inplace_of(
      *this, "addmv_", [&](const Tensor& x) { return tandem::addmv(x, mat, vec, beta, alpha); }, mat, vec);
}
Tensor Tensor::addr(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) const {
  return tandem::addr(*this, a, b, beta, alpha);
}
Tensor& Tensor::addr_(const Tensor& a, const Tensor& b, const Scalar& beta, const Scalar& alpha) {
  return inplace_of(
      *this, "addr_", [&](const Tensor& x) { return tandem::addr(x, a, b, beta, alpha); }, a, b);
}
Tensor Tensor::inner(const Tensor& other) const { return tandem::inner(*this, other); }
Tensor Tensor::kron(const Tensor& other) const { return tandem::kron(*this, other); }
Tensor Tensor::cross(const Tensor& other, optional<int64_t> dim) const {
  return tandem::cross(*this, other, dim);
}
Tensor Tensor::matrix_power(int64_t n) const { return tandem::matrix_power(*this, n); }

}  // namespace tandem
