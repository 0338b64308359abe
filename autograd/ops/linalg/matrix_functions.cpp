// The exponential of matrices, chains of products, Vandermonde matrices, and inverses of tensors.
#include "tandem/autograd/ops/linalg/matrix_functions.h"

#include <limits>
#include <vector>

#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/decomposition_op.h"
#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

// The diagonal Padé approximant of degree 13, for norms up to 5.37 (Higham, "The scaling and squaring method for the
// matrix exponential revisited", 2005). Coefficient j is (26 - j)! 13! / (26! (13 - j)! j!), scaled to integers.
Tensor pade_exponential(const Tensor& a) {
  constexpr double b[] = {64764752532480000.,
                          32382376266240000.,
                          7771770303897600.,
                          1187353796428800.,
                          129060195264000.,
                          10559470521600.,
                          670442572800.,
                          33522128640.,
                          1323241920.,
                          40840800.,
                          960960.,
                          16380.,
                          182.,
                          1.};
  const Tensor one = identity(a, a.size(-1)), a2 = matmul(a, a), a4 = matmul(a2, a2), a6 = matmul(a4, a2);
  const Tensor odd = matmul(a6, a6 * b[13] + a4 * b[11] + a2 * b[9]) + a6 * b[7] + a4 * b[5] + a2 * b[3] + one * b[1];
  const Tensor even = matmul(a6, a6 * b[12] + a4 * b[10] + a2 * b[8]) + a6 * b[6] + a4 * b[4] + a2 * b[2] + one * b[0];
  const Tensor u = matmul(a, odd);
  return std::get<0>(linalg_solve_ex(even - u, even + u));
}

// e^A = (e^(A / 2^s))^(2^s), with the s that each matrix needs.
Tensor exponential(const Tensor& a) {
  const NoGradGuard no_grad;
  if (a.numel() == 0) return a.clone();
  const Tensor norm = linalg_matrix_norm(a, 1);
  Tensor doublings = (norm / 5.37).log2().ceil().clamp(Scalar(0), Scalar(1100));
  doublings = where(norm.isfinite(), doublings, Scalar(0.0)).unsqueeze(-1).unsqueeze(-1);
  Tensor out = pade_exponential(a * (-doublings).exp2());
  const auto most = static_cast<int>(doublings.max().item().toDouble());
  for (int i = 0; i < most; ++i) out = where(doublings > i, matmul(out, out), out);
  return out;
}

// The derivative of the exponential is a block of the exponential of a larger matrix (Mathias, "A chain rule for matrix
// functions and applications", 1996): exp [Aᴴ G; 0 Aᴴ] = [… gA; 0 …].
struct MatrixExpBackward final : NamedNode<MatrixExpBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor ah = self.unpack(*this).mH();
    const int64_t n = ah.size(-1);
    const Tensor block = cat({cat({ah, g[0]}, -1), cat({zeros_like(ah), ah}, -1)}, -2);
    out[0] = linalg_matrix_exp(block).narrow(-2, 0, n).narrow(-1, n, n);
  }
  TANDEM_SAVED(self);
};

// The order of least work for sizes[i] x sizes[i + 1] matrices, by dynamic programming (Cormen et al., "Introduction to
// Algorithms", section 15.2): split[i][j] is where the product of the matrices i … j is divided.
std::vector<std::vector<std::size_t>> best_splits(const std::vector<double>& sizes) {
  const std::size_t n = sizes.size() - 1;
  std::vector<std::vector<double>> work(n, std::vector<double>(n, 0));
  std::vector<std::vector<std::size_t>> split(n, std::vector<std::size_t>(n, 0));
  for (std::size_t length = 1; length < n; ++length) {
    for (std::size_t i = 0; i + length < n; ++i) {
      const std::size_t j = i + length;
      work[i][j] = std::numeric_limits<double>::infinity();
      for (std::size_t k = i; k < j; ++k) {
        const double cost = work[i][k] + work[k + 1][j] + sizes[i] * sizes[k + 1] * sizes[j + 1];
        if (cost >= work[i][j]) continue;
        work[i][j] = cost;
        split[i][j] = k;
      }
    }
  }
  return split;
}
Tensor multiply(const std::vector<Tensor>& x, const std::vector<std::vector<std::size_t>>& split, std::size_t i,
                std::size_t j) {
  if (i == j) return x[i];
  const std::size_t k = split[i][j];
  return mm(multiply(x, split, i, k), multiply(x, split, k + 1, j));
}

}  // namespace

Tensor linalg_matrix_exp(const Tensor& self) {
  check_square("linalg.matrix_exp", self);
  const Tensor out = exponential(self);
  if (auto* node = record<MatrixExpBackward>(out, self)) node->self.save(self);
  return out;
}

Tensor linalg_multi_dot(TensorList tensors) {
  check(tensors.size() >= 2, "linalg.multi_dot: expected at least 2 tensors, got ", tensors.size());
  std::vector<Tensor> x(tensors.begin(), tensors.end());
  const bool row = x.front().dim() == 1, column = x.back().dim() == 1;
  if (row) x.front() = x.front().unsqueeze(0);
  if (column) x.back() = x.back().unsqueeze(-1);
  std::vector<double> sizes;
  for (const Tensor& t : x) {
    check(t.dim() == 2, "linalg.multi_dot: expected matrices, and vectors only first and last, got ", t);
    sizes.push_back(static_cast<double>(t.size(0)));
  }
  sizes.push_back(static_cast<double>(x.back().size(1)));
  Tensor out = multiply(x, best_splits(sizes), 0, x.size() - 1);
  if (row) out = out.squeeze(0);
  return column ? out.squeeze(-1) : out;
}

Tensor linalg_vecdot(const Tensor& x, const Tensor& y, int64_t dim) {
  if (const auto to = autocast::lower_precision(x)) return linalg_vecdot(to(x), to(y), dim);
  check(is_differentiable(x.dtype()) && is_differentiable(y.dtype()),
        "linalg.vecdot: expected floating point tensors\n  x ", x, "\n  y ", y);
  return (conj(x) * y).sum({dim});
}

Tensor linalg_cross(const Tensor& self, const Tensor& other, int64_t dim) {
  check(self.dim() == other.dim(), "linalg.cross: expected the same number of dimensions\n  self  ", self, "\n  other ",
        other);
  check(self.dim() > 0 && self.size(dim) == 3 && other.size(dim) == 3, "linalg.cross: expected size 3 along dimension ",
        dim, "\n  self  ", self, "\n  other ", other);
  return tandem::cross(self, other, dim);
}

Tensor linalg_vander(const Tensor& x, optional<int64_t> N) {
  check(x.dim() > 0, "linalg.vander: expected at least one dimension, got ", x);
  check(x.dtype() != kBool, "linalg.vander: not defined for bool");
  const int64_t count = N.value_or(x.size(-1));
  check(count >= 1, "linalg.vander: N must be at least 1, got ", count);
  const Tensor base = is_integral(x.dtype(), true) ? x.to(kLong) : x, column = base.unsqueeze(-1);
  const Tensor first = ones_like(column);
  if (count == 1) return first;
  Dims sizes = column.sizes();
  sizes.back() = count - 1;
  return cat({first, column.expand(sizes).cumprod(-1)}, -1);
}

Tensor vander(const Tensor& x, optional<int64_t> N, bool increasing) {
  check(x.dim() == 1, "vander: expected a vector, got ", x);
  const int64_t count = N.value_or(x.size(0));
  check(count >= 0, "vander: N must not be negative, got ", count);
  if (count == 0) return x.to(is_integral(x.dtype(), true) ? kLong : x.dtype()).unsqueeze(-1).narrow(-1, 0, 0);
  const Tensor ascending = linalg_vander(x, count);
  return increasing ? ascending : ascending.flip({-1});
}

Tensor linalg_tensorinv(const Tensor& self, int64_t ind) {
  check(ind > 0 && ind <= self.dim(), "linalg.tensorinv: ind must be in [1, ", self.dim(), "], got ", ind);
  const auto split = static_cast<std::size_t>(ind);
  const IntArrayRef rows = self.sizes().slice(0, split), columns = self.sizes().slice(split);
  const int64_t m = checked_numel(rows), n = checked_numel(columns);
  check(m == n, "linalg.tensorinv: the products of the sizes before and from ", ind, " differ: ", m, " and ", n,
        "\n  self ", self);
  std::vector<int64_t> sizes(columns.begin(), columns.end());
  sizes.insert(sizes.end(), rows.begin(), rows.end());
  return linalg_inv(self.reshape({n, n})).reshape(sizes);
}

Tensor linalg_tensorsolve(const Tensor& self, const Tensor& other, optional<IntArrayRef> dims) {
  Tensor a = self;
  if (dims) {
    std::vector<int64_t> to;
    for (std::size_t i = 0; i < dims->size(); ++i) to.push_back(self.dim() - static_cast<int64_t>(dims->size() - i));
    a = self.movedim(*dims, to);
  }
  check(other.dim() <= a.dim(), "linalg.tensorsolve: other has more dimensions than self\n  self  ", self, "\n  other ",
        other);
  const auto split = static_cast<std::size_t>(other.dim());
  const IntArrayRef sizes = a.sizes().slice(split);
  const int64_t n = checked_numel(sizes);
  check(other.numel() == n && a.numel() == checked_numel({n, n}),
        "linalg.tensorsolve: expected as many equations as unknowns\n  self  ", self, "\n  other ", other);
  return linalg_solve(a.reshape({n, n}), other.reshape({n})).reshape(sizes);
}

}  // namespace tandem
