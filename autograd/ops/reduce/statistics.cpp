// Statistics, composed of sort, gather, cumsum and reductions.
#include "tandem/autograd/ops/reduce/statistics.h"
#include "tandem/autograd/ops/detail/autocast_lists.h"
#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/complex.h"

#include <cmath>
#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/reduce_op.h"
#include "tandem/autograd/ops/reduce/sort.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {
namespace {
using namespace autograd;

void check_quantiles(const char* operation, const Tensor& self, const Tensor& q) {
  check(self.is_floating_point() && q.dtype() == self.dtype(), operation,
        ": expected one floating point dtype\n  self ", self, "\n  q    ", q);
  check(q.dim() <= 1, operation, ": q must be a number or a vector, got ", q);
  check(q.numel() == 0 || logical_and(q >= 0, q <= 1).all().item<bool>(), operation, ": q must be in [0, 1]");
  check(self.numel() > 0, operation, ": expected a tensor with elements, got ", self);
}

// The value at `place` between the sorted elements `below` and `above` it.
Tensor interpolated(const char* operation, std::string_view mode, const Tensor& below, const Tensor& above,
                    const Tensor& place) {
  const Tensor low = place.floor(), at_low = low == place;
  if (mode == "lower") return below;
  if (mode == "higher") return above;
  if (mode == "nearest") return where(place.round() == low, below, above);
  check(mode == "linear" || mode == "midpoint", operation,
        ": interpolation must be \"linear\", \"lower\", \"higher\", \"midpoint\" or \"nearest\", got \"", mode, "\"");
  const Tensor part = mode == "linear" ? place - low : full({}, 0.5, place.options());
  // Infinities have no difference; between one and a finite number every value is that infinity.
  const Tensor infinite = logical_or(below.isinf(), above.isinf());
  const Tensor between = where(infinite, below * (1 - part) + above * part, below + (above - below) * part);
  return where(at_low, below, between);
}

Tensor quantiles(const char* operation, const Tensor& self, const Tensor& q, optional<int64_t> dim, bool keepdim,
                 std::string_view interpolation, bool skip_nan) {
  if (const auto to = autocast::full_precision(self))
    return quantiles(operation, to(self), to(q), dim, keepdim, interpolation, skip_nan);
  check_quantiles(operation, self, q);
  const Tensor whole = dim && self.dim() > 0 ? self : self.reshape({-1});
  const Tensor x = whole.movedim(dim ? wrap_dim(*dim, whole.dim()) : 0, -1);
  const Tensor sorted = std::get<0>(tandem::sort(x, -1)), missing = x.detach().isnan();
  // NaN comes last: the others are counted.
  const Tensor count = skip_nan ? logical_not(missing).sum(IntArrayRef(-1), true)
                                : full({1}, x.size(-1), missing.options().dtype(kLong));
  const Tensor place = q.detach().reshape({-1}) * (count - 1).clamp_min(Scalar(0)).to(q.dtype());
  Dims sizes(x.sizes());
  sizes.back() = q.numel();
  const auto element = [&](const Tensor& at) { return sorted.gather(-1, at.to(kLong).expand(sizes)); };
  Tensor out = interpolated(operation, interpolation, element(place.floor()), element(place.ceil()), place);
  if (!skip_nan) out = where(missing.any(-1, true), Scalar(std::numeric_limits<double>::quiet_NaN()), out);
  // Moves the quantiles to the front and restores the reduced dimensions.
  out = out.movedim(-1, 0);
  if (keepdim) {
    if (dim && self.dim() > 0)
      out = out.unsqueeze(wrap_dim(*dim, self.dim()) + 1);
    else
      for (int64_t d = 0; d < self.dim(); ++d) out = out.unsqueeze(1);
  }
  return q.dim() == 0 ? out.squeeze(0) : out;
}

}  // namespace

Tensor nanmean(const Tensor& self, IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) {
  check(self.is_floating_point(), "nanmean: expected floating point, got ", self);
  return nansum(self, dim, keepdim, dtype) / logical_not(self.isnan()).sum(dim, keepdim);
}

Tensor diff(const Tensor& self, int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) {
  check(self.dim() >= 1, "diff: expected at least one dimension, got ", self);
  check(n >= 0, "diff: n must not be negative, got ", n);
  // As in PyTorch, a dimension that nothing depends on may be anything.
  if (n == 0 && !prepend.defined() && !append.defined()) return self.clone();
  dim = wrap_dim(dim, self.dim());
  std::vector<Tensor> parts;
  const auto join = [&](const Tensor& t) {
    if (!t.defined()) return;
    check(t.dim() == self.dim(), "diff: expected ", self.dim(), " dimensions, got ", t);
    for (int64_t d = 0; d < self.dim(); ++d)
      check(d == dim || t.size(d) == self.size(d), "diff: shapes may differ in dimension ", dim,
            " only\n  self              ", self, "\n  prepend or append ", t);
    parts.push_back(t);
  };
  join(prepend);
  parts.push_back(self);
  join(append);
  if (n == 0) return self.clone();
  Tensor out = parts.size() == 1 ? self : cat(parts, dim);
  for (; n > 0 && out.size(dim) > 0; --n) {
    const int64_t count = out.size(dim) - 1;
    const Tensor next = out.narrow(dim, 1, count), now = out.narrow(dim, 0, count);
    out = out.dtype() == kBool ? logical_xor(next, now) : next - now;
  }
  return out;
}

Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p) { return norm(self - other, p); }

Tensor histc(const Tensor& self, int64_t bins, const Scalar& min, const Scalar& max) {
  check(self.is_floating_point(), "histc: expected floating point, got ", self);
  check(bins > 0, "histc: expected at least one bin, got ", bins);
  const Tensor x = self.detach().reshape({-1}), none = zeros({bins}, self.options());
  double low = min.toDouble(), high = max.toDouble();
  if (low == high && x.numel() > 0) {
    low = x.min().item<double>();
    high = x.max().item<double>();
  }
  if (low == high) {
    low -= 1;
    high += 1;
  }
  check(std::isfinite(low) && std::isfinite(high) && low < high, "histc: the range must be finite and not empty, got [",
        low, ", ", high, "]");
  const Tensor inside = x.masked_select(logical_and(x >= low, x <= high));
  const Tensor bin = ((inside - low) * static_cast<double>(bins) / (high - low)).to(kLong);
  return none.index_add(0, bin.clamp_max(Scalar(bins - 1)), ones_like(inside));
}

#define TANDEM_QUANTILE(f, skip_nan)                                                                                   \
  Tensor f(const Tensor& self, const Tensor& q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) { \
    return quantiles(#f, self, q, dim, keepdim, interpolation, skip_nan);                                              \
  }                                                                                                                    \
  Tensor f(const Tensor& self, double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) {        \
    return f(self, full({}, q, self.options()), dim, keepdim, interpolation);                                          \
  }                                                                                                                    \
  Tensor Tensor::f(double q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) const {              \
    return tandem::f(*this, q, dim, keepdim, interpolation);                                                           \
  }                                                                                                                    \
  Tensor Tensor::f(const Tensor& q, optional<int64_t> dim, bool keepdim, std::string_view interpolation) const {       \
    return tandem::f(*this, q, dim, keepdim, interpolation);                                                           \
  }
TANDEM_QUANTILE(quantile, false)
TANDEM_QUANTILE(nanquantile, true)
#undef TANDEM_QUANTILE

// The lower median of the sorted elements before the NaN. Integers have no NaN.
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, int64_t dim, bool keepdim) {
  if (!self.is_floating_point() || self.dim() == 0) return median(self, dim, keepdim);
  dim = wrap_dim(dim, self.dim());
  check(self.size(dim) > 0, "nanmedian: dimension ", dim, " must not be empty, got ", self);
  const Tensor count = logical_not(self.detach().isnan()).sum(IntArrayRef(dim), true);
  const Tensor place = (count - 1).clamp_min(Scalar(0)).div(Scalar(2), "floor");
  const Tensor index = argsort(self.detach(), dim).gather(dim, place), value = self.gather(dim, index);
  if (keepdim) return {value, index};
  return {value.squeeze(dim), index.squeeze(dim)};
}
Tensor nanmedian(const Tensor& self) {
  if (!self.is_floating_point() || self.numel() == 0) return median(self);
  Tensor out = std::get<0>(nanmedian(self.detach().reshape({-1}), 0, false));
  record_shared(out, self, dim_mask({}, self.dim()), false, "NanmedianBackward");
  return out;
}

// Equal values form runs in the sorted order. Takes the last position of the first of the longest runs.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim, bool keepdim) {
  dim = wrap_dim(dim, self.dim());
  if (self.dim() == 0) return {self.clone(), zeros({}, self.options().dtype(kLong))};
  const int64_t n = self.size(dim);
  check(n > 0, "mode: dimension ", dim, " must not be empty, got ", self);
  const auto [sorted, order] = tandem::sort(self.detach(), dim);
  const Tensor starts = ne(sorted.narrow(dim, 1, n - 1), sorted.narrow(dim, 0, n - 1)).to(kLong);
  const Tensor run = cat({zeros_like(order.narrow(dim, 0, 1)), starts.cumsum(dim)}, dim);
  const Tensor counts = zeros_like(order).scatter_add(dim, run, ones_like(order));
  const Tensor place = (run <= counts.argmax(dim, true)).sum(IntArrayRef(dim), true) - 1;
  Tensor index = order.gather(dim, place), value = self.gather(dim, index);
  if (keepdim) return {value, index};
  return {value.squeeze(dim), index.squeeze(dim)};
}

namespace {
void check_weights(const char* name, const Tensor& weights, bool has_dtype, const Tensor& x) {
  check(has_dtype && weights.dim() <= 1 && weights.numel() == x.size(1), "cov: ", name, " must be a vector of ",
        x.size(1), name[0] == 'f' ? " integers" : " floating point numbers", ", got ", weights);
  check(!(weights < 0).any().item<bool>(), "cov: ", name, " cannot be negative");
}
}  // namespace

Tensor cov(const Tensor& self, int64_t correction, const Tensor& fweights, const Tensor& aweights) {
  if (const auto half = autograd::half_result(self, aweights))
    return cov(autograd::widened(self), correction, fweights, autograd::widened(aweights)).to(*half);
  check(self.dim() <= 2, "cov: expected at most 2 dimensions, got ", self);
  const Tensor x = as_float(self.dim() < 2 ? self.reshape({1, -1}) : self);
  if (fweights.defined()) check_weights("fweights", fweights, is_integral(fweights.dtype(), false), x);
  if (aweights.defined()) check_weights("aweights", aweights, aweights.is_floating_point(), x);
  if (!fweights.defined() && !aweights.defined()) {
    const Tensor d = x - x.mean(IntArrayRef(1), true);
    const double count = std::max(static_cast<double>(x.size(1)) - static_cast<double>(correction), 0.0);
    return (d.matmul(d.mH()) / count).squeeze();
  }
  const Tensor w = !fweights.defined() ? aweights : !aweights.defined() ? fweights : fweights * aweights;
  const Tensor total = w.sum();
  check(total.item<double>() != 0, "cov: weights sum to zero, can't be normalized");
  const Tensor d = x - (x * w).sum(IntArrayRef(1), true) / total;
  const Tensor count = total - (aweights.defined() ? (w * aweights).sum() / total : ones_like(total)) * correction;
  const Tensor weighted = d * w;
  return (weighted.matmul(d.to(weighted.dtype()).mH()) / count.clamp_min(Scalar(0))).squeeze();
}

Tensor corrcoef(const Tensor& self) {
  if (const auto half = autograd::half_result(self)) return corrcoef(autograd::widened(self)).to(*half);
  const Tensor c = cov(self);
  if (c.dim() == 0) return c / c;
  const Tensor s = real(c.diagonal()).sqrt(), r = c / s.unsqueeze(1) / s.unsqueeze(0);
  const auto bounded = [](const Tensor& x) { return x.clamp(Scalar(-1), Scalar(1)); };
  return r.is_complex() ? complex(bounded(real(r)), bounded(imag(r))) : bounded(r);
}

Tensor Tensor::nansum(IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::nansum(*this, dim, keepdim, dtype);
}
Tensor Tensor::nanmean(IntArrayRef dim, bool keepdim, optional<ScalarType> dtype) const {
  return tandem::nanmean(*this, dim, keepdim, dtype);
}
std::tuple<Tensor, Tensor> Tensor::aminmax(optional<int64_t> dim, bool keepdim) const {
  return tandem::aminmax(*this, dim, keepdim);
}
Tensor Tensor::diff(int64_t n, int64_t dim, const Tensor& prepend, const Tensor& append) const {
  return tandem::diff(*this, n, dim, prepend, append);
}
Tensor Tensor::dist(const Tensor& other, const Scalar& p) const { return tandem::dist(*this, other, p); }
Tensor Tensor::histc(int64_t bins, const Scalar& min, const Scalar& max) const {
  return tandem::histc(*this, bins, min, max);
}
std::tuple<Tensor, Tensor> Tensor::mode(int64_t dim, bool keepdim) const { return tandem::mode(*this, dim, keepdim); }

Tensor Tensor::cov(int64_t correction, const Tensor& fweights, const Tensor& aweights) const {
  return tandem::cov(*this, correction, fweights, aweights);
}
Tensor Tensor::corrcoef() const { return tandem::corrcoef(*this); }
Tensor Tensor::nanmedian() const { return tandem::nanmedian(*this); }
std::tuple<Tensor, Tensor> Tensor::nanmedian(int64_t dim, bool keepdim) const {
  return tandem::nanmedian(*this, dim, keepdim);
}

}  // namespace tandem
