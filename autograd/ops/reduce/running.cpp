// cummax, cummin, logcumsumexp; trapezoid; gradient.
//
// Gradient of y = logcumsumexp(x): dx_k = Σ_(i >= k) g_i exp(x_k - y_i) = exp(x_k - y_k) L_k with
// L_k = g_k + exp(y_k - y_(k+1)) L_(k+1). No exponent is positive, because y does not decrease.
#include "tandem/autograd/ops/reduce/running.h"

#include <functional>
#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/reduce/scan.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/scan.h"

namespace tandem {
namespace {
using namespace autograd;

std::tuple<Tensor, Tensor> running_extreme(const Tensor& self, int64_t dim, bool smallest) {
  dim = wrap_dim(dim, self.dim());
  Tensor index = zeros(self.sizes(), TensorOptions(kLong).device(self.device()));
  if (self.dim() == 0 || self.numel() == 0) return {self.clone(), index};
  const bool half = self.dtype() == kHalf || self.dtype() == kBFloat16;
  const Tensor x = self.detach();
  backend(x).scan.cummax(index, (half ? x.to(kFloat) : x).contiguous(), dim, smallest);
  return {self.gather(dim, index), index};
}

// By doubling: after k steps an element is the logarithm of the sum of the last 2^k.
Tensor complex_logcumsumexp(const Tensor& self, int64_t dim) {
  Tensor out = self.clone();
  const int64_t n = self.size(dim);
  for (int64_t step = 1; step < n; step *= 2) {
    const Tensor earlier = out.narrow(dim, 0, n - step);
    out = cat({out.narrow(dim, 0, step), logaddexp(out.narrow(dim, step, n - step), earlier)}, dim);
  }
  return out;
}

struct LogcumsumexpBackward final : NamedNode<LogcumsumexpBackward> {
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor x = self.unpack(*this), y = result.unpack(*this);
    const double infinity = std::numeric_limits<double>::infinity();
    // exp(a - b), and 1 for equal infinities, which have no difference.
    const auto weight = [](const Tensor& a, const Tensor& b) {
      const Tensor same = logical_and(a.detach() == b.detach(), a.detach().isinf());
      return (a.masked_fill(same, 0) - b.masked_fill(same, 0)).exp();
    };
    out[0] = weight(x, y) * linear_recurrence(weight(y, shifted(y, dim, true, infinity)), g[0], dim, true);
  }
  TANDEM_SAVED(self, result);
  int64_t dim = 0;
};

// Pairs of neighbours along dim.
Tensor after(const Tensor& t, int64_t dim) { return t.slice(dim, 1); }
Tensor before(const Tensor& t, int64_t dim) { return t.slice(dim, 0, -1); }

Tensor neighbour_sums(const Tensor& y, int64_t dim) { return after(y, dim) + before(y, dim); }

// n along dim, 1 elsewhere.
Dims line_shape(int64_t rank, int64_t dim, int64_t n) {
  Dims shape;
  for (int64_t d = 0; d < rank; ++d) shape.push_back(d == dim ? n : 1);
  return shape;
}

// The differences of the points x, in a shape that broadcasts with y without its last element along dim.
Tensor steps(const char* operation, const Tensor& y, const Tensor& x, int64_t& dim) {
  dim = wrap_dim(dim, y.dim());
  if (x.dim() == 1) {
    check(x.size(0) == y.size(dim), operation, ": dimension ", dim, " must have one point each\n  y ", y, "\n  x ", x);
    return (after(x, 0) - before(x, 0)).view(line_shape(y.dim(), dim, x.size(0) - 1));
  }
  const Tensor wide = x.dim() < y.dim() ? x.view([&] {
    Dims shape(static_cast<std::size_t>(y.dim() - x.dim()), 1);
    for (const int64_t n : x.sizes()) shape.push_back(n);
    return shape;
  }())
                                        : x;
  return after(wide, dim) - before(wide, dim);
}

}  // namespace

std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim) { return running_extreme(self, dim, false); }
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim) { return running_extreme(self, dim, true); }

Tensor logcumsumexp(const Tensor& self, int64_t dim) {
  check(is_differentiable(self.dtype()), "logcumsumexp: expected a floating point or complex tensor, got ", self);
  dim = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return logcumsumexp(self.reshape({1}), 0).reshape({});
  if (self.is_complex()) return complex_logcumsumexp(self, dim);
  if (self.dtype() == kHalf || self.dtype() == kBFloat16) return logcumsumexp(self.to(kFloat), dim).to(self.dtype());
  Tensor out = empty_raw(self.sizes(), self.dtype(), self.device());
  if (self.numel() > 0) backend(self).scan.logcumsumexp(out, self.detach().contiguous(), dim, false);
  if (auto* node = record<LogcumsumexpBackward>(out, self)) {
    node->self.save(self);
    node->result.save_output(out);
    node->dim = dim;
  }
  return out;
}

Tensor trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  if (y.size(dim) == 0) return y.sum(IntArrayRef(dim));
  return neighbour_sums(y, dim).sum(IntArrayRef(dim)) * dx / 2.0;
}
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  if (y.size(dim) == 0) return y.sum(IntArrayRef(dim));
  const Tensor step = steps("trapezoid", y, x, dim);
  return (step * neighbour_sums(y, dim)).sum(IntArrayRef(dim)) / 2.0;
}
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim) { return trapezoid(y, x, dim); }
Tensor trapz(const Tensor& y, double dx, int64_t dim) { return trapezoid(y, Scalar(dx), dim); }

Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx, int64_t dim) {
  return neighbour_sums(y, dim).cumsum(dim) * (dx.toDouble() / 2);
}
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim) {
  const Tensor step = steps("cumulative_trapezoid", y, x, dim);
  return (step * neighbour_sums(y, dim)).cumsum(dim) / 2.0;
}

namespace {

// The derivative along dim at points whose steps are `step` (a tensor that broadcasts, or a number).
Tensor derivative(const Tensor& y, int64_t dim, int64_t edge_order, const Tensor& step) {
  const int64_t n = y.size(dim);
  const auto at = [&](const Tensor& t, int64_t i) { return t.narrow(dim, i < 0 ? t.size(dim) + i : i, 1); };
  const Tensor later = after(y, dim), slope = (later - before(y, dim)) / step;
  const Tensor left = before(step, dim), right = after(step, dim);
  // At uneven points, the slopes on both sides are weighted by the step on the other side.
  const Tensor of_left = before(slope, dim) * right, of_right = after(slope, dim) * left;
  const Tensor inner = (of_left + of_right) / (left + right);
  Tensor first = at(slope, 0), last = at(slope, -1);
  if (edge_order == 2) {
    const Tensor h0 = at(step, 0), h1 = at(step, 1), e0 = at(step, -2), e1 = at(step, -1);
    // One after the other: compilers differ in the order of operands, and gradients are added in the order of the calls.
    const auto edge = [&](const Tensor& outer, const Tensor& inner, int64_t i, int64_t k) {
      const Tensor weight = outer * 2 + inner, near = weight * at(slope, i), far = outer * at(slope, k);
      return (near - far) / (outer + inner);
    };
    first = edge(h0, h1, 0, 1);
    last = edge(e1, e0, -1, -2);
  }
  return n > 2 ? cat({first, inner, last}, dim) : cat({first, last}, dim);
}

std::vector<Tensor> derivatives(const Tensor& self, IntArrayRef dims, int64_t edge_order,
                                const std::function<Tensor(std::size_t i, int64_t n)>& steps_of) {
  check(edge_order == 1 || edge_order == 2, "gradient: edge_order must be 1 or 2, got ", edge_order);
  const Tensor y = as_float(self);
  std::vector<Tensor> out;
  uint64_t seen = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    const int64_t dim = wrap_dim(dims[i], y.dim());
    check((seen >> dim & 1) == 0, "gradient: dimension ", dim, " appears more than once");
    seen |= uint64_t{1} << dim;
    check(y.dim() > 0 && y.size(dim) >= edge_order + 1, "gradient: dimension ", dim, " needs at least ", edge_order + 1,
          " elements, got ", self);
    const Dims shape = line_shape(y.dim(), dim, y.size(dim) - 1);
    out.push_back(derivative(y, dim, edge_order, steps_of(i, y.size(dim)).view(shape)));
  }
  return out;
}

Dims dims_of(const Tensor& self, optional<int64_t> dim) {
  Dims dims;
  if (dim)
    dims.push_back(*dim);
  else
    for (int64_t d = 0; d < self.dim(); ++d) dims.push_back(d);
  return dims;
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, IntArrayRef dim, int64_t edge_order) {
  check(spacing.size() == 1 || spacing.size() == dim.size(), "gradient: ", spacing.size(), " spacings for ", dim.size(),
        " dimensions");
  return derivatives(self, dim, edge_order, [&](std::size_t i, int64_t n) {
    return full({n - 1}, spacing[spacing.size() == 1 ? 0 : i].toDouble(), as_float(self.detach()).options());
  });
}
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, IntArrayRef dim, int64_t edge_order) {
  check(spacing.size() == dim.size(), "gradient: ", spacing.size(), " vectors of points for ", dim.size(),
        " dimensions");
  return derivatives(self, dim, edge_order, [&](std::size_t i, int64_t n) {
    const Tensor& x = spacing[i];
    check(x.dim() == 1 && x.size(0) == n, "gradient: expected ", n, " points for dimension ", dim[i], ", got ", x);
    return x.slice(0, 1) - x.slice(0, 0, -1);
  });
}
std::vector<Tensor> gradient(const Tensor& self, const optional<Scalar>& spacing, optional<int64_t> dim,
                             int64_t edge_order) {
  return gradient(self, ArrayRef<Scalar>(spacing.value_or(Scalar(1))), dims_of(self, dim), edge_order);
}
std::vector<Tensor> gradient(const Tensor& self, const Scalar& spacing, IntArrayRef dim, int64_t edge_order) {
  return gradient(self, ArrayRef<Scalar>(spacing), dim, edge_order);
}
std::vector<Tensor> gradient(const Tensor& self, IntArrayRef dim, int64_t edge_order) {
  return gradient(self, Scalar(1), dim, edge_order);
}
std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, optional<int64_t> dim, int64_t edge_order) {
  return gradient(self, spacing, dims_of(self, dim), edge_order);
}
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, optional<int64_t> dim, int64_t edge_order) {
  return gradient(self, spacing, dims_of(self, dim), edge_order);
}

std::tuple<Tensor, Tensor> Tensor::cummax(int64_t dim) const { return tandem::cummax(*this, dim); }
std::tuple<Tensor, Tensor> Tensor::cummin(int64_t dim) const { return tandem::cummin(*this, dim); }
Tensor Tensor::logcumsumexp(int64_t dim) const { return tandem::logcumsumexp(*this, dim); }

}  // namespace tandem
