// scatter_reduce, index_reduce, segment_reduce, put.
//
// Extremes: src is sorted along dim, and its elements are written in that order, so that the last one stays. Products:
// elements with equal index are brought together, and each is multiplied with those before it in log n steps; then the
// last one is written. Gradients of a product: g times the product of the others, which is product / element unless the
// element is 0.
#include "tandem/autograd/ops/index/scatter_reduce.h"

#include <limits>

#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/index/gather.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/sort.h"
#include "tandem/autograd/ops/reduce/unique.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/autograd/record.h"

namespace tandem {
namespace {
using namespace autograd;

// The lowest value of a dtype: the fold of no elements by "amax".
Scalar lowest(ScalarType type) {
  Scalar value = 0;
  dispatch(type, AllTypes{}, "scatter_reduce", [&]<class T>(Type<T>) {
    if constexpr (std::is_integral_v<T>)
      value = static_cast<int64_t>(std::numeric_limits<T>::lowest());
    else
      value = -std::numeric_limits<double>::infinity();
  });
  return value;
}

// Reverses the order of all values except NaN.
Tensor mirrored(const Tensor& t) { return is_integral(t.dtype(), true) ? bitwise_not(t) : neg(t); }

// The values along dim in ascending order (sort has no order for bool).
Tensor ascending_order(const Tensor& t, int64_t dim) { return argsort(t.dtype() == kBool ? t.to(kByte) : t, dim); }

Tensor largest(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor order = ascending_order(src, dim);
  const Tensor found =
      full_like(self, lowest(self.dtype())).scatter(dim, index.gather(dim, order), src.gather(dim, order));
  return maximum(self, found);
}

Tensor product(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  const Tensor order = argsort(index, dim), place = index.gather(dim, order);
  Tensor value = src.gather(dim, order);
  const int64_t n = place.size(dim);
  for (int64_t apart = 1; apart < n; apart *= 2) {
    const Tensor front = value.narrow(dim, 0, apart), back = value.narrow(dim, apart, n - apart);
    const Tensor same = place.narrow(dim, 0, n - apart) == place.narrow(dim, apart, n - apart);
    const Tensor earlier = value.narrow(dim, 0, n - apart).masked_fill(logical_not(same), 1);
    value = cat({front, back * earlier}, dim);
  }
  return self * ones_like(self).scatter(dim, place, value);
}

enum class Fold { kSum, kProd, kMean, kMax, kMin };
Fold fold_named(const char* operation, std::string_view name) {
  if (name == "sum") return Fold::kSum;
  if (name == "prod") return Fold::kProd;
  if (name == "mean") return Fold::kMean;
  if (name == "amax") return Fold::kMax;
  check(name == "amin", operation, ": reduce must be \"sum\", \"prod\", \"mean\", \"amax\" or \"amin\", got \"", name,
        "\"");
  return Fold::kMin;
}

struct ScatterExtremeBackward final : Node {
  const char* label() const override { return "ScatterReduceBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = index.unpack(*this), y = result.unpack(*this).detach();
    const Tensor own = (self.unpack(*this).detach() == y).to(y.dtype());
    const Tensor sent = (src.unpack(*this).detach() == y.gather(dim, at)).to(y.dtype());
    const Tensor share = g[0] / own.scatter_add(dim, at, sent).clamp_min(Scalar(1));
    if (needs(0)) out[0] = share * own;
    if (needs(1)) out[1] = share.gather(dim, at) * sent;
  }
  TANDEM_SAVED(self, index, src, result);
  int64_t dim = 0;
};

struct ScatterProductBackward final : Node {
  const char* label() const override { return "ScatterReduceBackward"; }
  void backward(std::span<Tensor> g, std::span<Tensor> out) override {
    const Tensor at = index.unpack(*this), x = self.unpack(*this), s = src.unpack(*this);
    const auto times = [&](const Tensor& a, const Tensor& b) { return scatter_reduce(a, dim, at, b, "prod"); };
    if (needs(0)) out[0] = g[0] * conj(times(ones_like(x), s));
    if (!needs(1)) return;
    // Without the zeros, and with them where there is more than one or none.
    const Tensor zero = s.detach() == 0, filled = s.masked_fill(zero, 1);
    const Tensor zeros_at = zeros_like(x, kLong).scatter_add(dim, at, zero.to(kLong)).gather(dim, at);
    const Tensor without = (g[0] * conj(times(x, filled))).gather(dim, at) / conj(filled);
    out[1] = without.masked_fill(zeros_at > zero.to(kLong), 0);
  }
  TANDEM_SAVED(self, index, src);
  int64_t dim = 0;
};

Tensor scatter_product(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src) {
  Tensor out = product(self.detach(), dim, index, src.detach());
  if (auto* node = record<ScatterProductBackward>(out, self, src)) {
    node->self.save(self);
    node->src.save(src);
    node->index.save(index);
    node->dim = dim;
  }
  return out;
}

Tensor scatter_extreme(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool smallest) {
  refuse_complex("scatter_reduce", self);
  const Tensor x = self.detach(), s = src.detach();
  Tensor out = smallest ? mirrored(largest(mirrored(x), dim, index, mirrored(s))) : largest(x, dim, index, s);
  if (auto* node = record<ScatterExtremeBackward>(out, self, src)) {
    node->self.save(self);
    node->src.save(src);
    node->index.save(index);
    node->result.save_output(out);
    node->dim = dim;
  }
  return out;
}

Tensor scatter_mean(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, bool include_self) {
  const TensorOptions whole = index.options().dtype(kLong);
  const Tensor first = include_self ? ones(self.sizes(), whole) : zeros(self.sizes(), whole);
  const Tensor count = first.scatter_add(dim, index, ones(index.sizes(), whole)).clamp_min(Scalar(1));
  const Tensor sum = self.scatter_add(dim, index, src);
  return is_integral(self.dtype(), true) ? sum.div(count.to(self.dtype()), "floor") : sum / count.to(self.dtype());
}

// The part of src that the index covers, as scatter_add reads it.
Tensor covered(Tensor src, const Tensor& index) {
  if (src.dim() != index.dim()) return src;
  for (int64_t d = 0; d < src.dim(); ++d)
    if (index.size(d) < src.size(d)) src = src.narrow(d, 0, index.size(d));
  return src;
}

Tensor folded(const char* operation, const Tensor& self, int64_t dim, const Tensor& given, const Tensor& given_src,
              Fold fold, bool include_self) {
  dim = wrap_dim(dim, self.dim());
  if (given.numel() == 0 || self.dim() == 0 || given.dim() == 0 || given_src.dim() == 0) {
    self.detach().scatter_add(dim, given, given_src.detach());  // checks the arguments
    if (given.numel() == 0) return self.clone();
    return folded(operation, self.reshape({-1}), 0, given.reshape({-1}), given_src.reshape({-1}), fold, include_self)
        .reshape(self.sizes());
  }
  // The extremes and products sort the index, so that it is checked first, by an operation that reads each element.
  self.detach().gather(dim, given);
  const Tensor index = given.to(kLong), src = covered(given_src, index);
  check(src.sizes() == index.sizes() && src.dtype() == self.dtype(), operation,
        ": src must have self's dtype and cover the index\n  self  ", self, "\n  index ", index, "\n  src   ",
        given_src);
  Tensor x = self;
  if (!include_self) {
    Scalar none = fold == Fold::kProd ? 1 : 0;
    if (fold == Fold::kMax || fold == Fold::kMin) none = lowest(self.dtype());
    if (fold == Fold::kMin)
      none = is_integral(self.dtype(), true) ? mirrored(full({}, none, self.dtype())).item() : Scalar(-none.toDouble());
    x = self.scatter(dim, index, none);
  }
  switch (fold) {
    case Fold::kSum:
      return x.scatter_add(dim, index, src);
    case Fold::kMean:
      return scatter_mean(x, dim, index, src, include_self);
    case Fold::kProd:
      return scatter_product(x, dim, index, src);
    default:
      return scatter_extreme(x, dim, index, src, fold == Fold::kMin);
  }
}

// One index per slice, expanded to source's shape.
Tensor slices_index(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source) {
  check(index.dim() <= 1, "index_reduce: expected a vector of indices, got ", index);
  Dims expected(self.sizes());
  if (!expected.empty()) expected[static_cast<std::size_t>(dim)] = index.numel();
  check(Dims(source.sizes()) == expected, "index_reduce: source must be ", expected, ", got ", source, "\n  self  ",
        self, "\n  index ", index);
  Dims shape(source.sizes().size(), 1);
  if (!shape.empty()) shape[static_cast<std::size_t>(dim)] = index.numel();
  return index.reshape(shape).expand(source.sizes());
}

}  // namespace

Tensor scatter_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                      bool include_self) {
  return folded("scatter_reduce", self, dim, index, src, fold_named("scatter_reduce", reduce), include_self);
}
Tensor& scatter_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                        std::string_view reduce, bool include_self) {
  return inplace_of(
      self, "scatter_reduce_",
      [&](const Tensor& x) { return scatter_reduce(x, dim, index, src, reduce, include_self); }, src);
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  check(reduce == "add" || reduce == "multiply", "scatter: reduce must be \"add\" or \"multiply\", got \"", reduce,
        "\"");
  return scatter_reduce(self, dim, index, src, reduce == "add" ? "sum" : "prod");
}
Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return scatter(self, dim, index, full(index.sizes(), value, self.options()), reduce);
}
Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) {
  return inplace_of(
      self, "scatter_", [&](const Tensor& x) { return scatter(x, dim, index, src, reduce); }, src);
}
Tensor& scatter_(const Tensor& self, int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) {
  return inplace_of(self, "scatter_", [&](const Tensor& x) { return scatter(x, dim, index, value, reduce); });
}

Tensor index_reduce(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                    bool include_self) {
  const Fold fold = fold_named("index_reduce", reduce);
  check(fold != Fold::kSum, "index_reduce: reduce must not be \"sum\"; use index_add");
  dim = wrap_dim(dim, self.dim());
  return folded("index_reduce", self, dim, slices_index(self, dim, index, source), source, fold, include_self);
}
Tensor& index_reduce_(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& source,
                      std::string_view reduce, bool include_self) {
  return inplace_of(
      self, "index_reduce_", [&](const Tensor& x) { return index_reduce(x, dim, index, source, reduce, include_self); },
      source);
}

Tensor segment_reduce(const Tensor& data, std::string_view reduce, const Tensor& lengths, const Tensor& indices,
                      const Tensor& offsets, int64_t axis, bool unsafe, const optional<Scalar>& initial) {
  check(!indices.defined(), "segment_reduce: indices are not supported; give lengths or offsets");
  check(lengths.defined() != offsets.defined(), "segment_reduce: expected either lengths or offsets");
  check(data.is_floating_point() && data.dim() > 0, "segment_reduce: expected a floating point tensor, got ", data);
  axis = wrap_dim(axis, data.dim());
  const Tensor given = lengths.defined() ? lengths : offsets;
  check(is_integral(given.dtype(), false) && given.dim() == axis + 1,
        "segment_reduce: lengths or offsets must be integers with ", axis + 1, " dimensions, got ", given);
  for (int64_t d = 0; d < axis; ++d)
    check(given.size(d) == data.size(d), "segment_reduce: sizes differ at dimension ", d, "\n  data    ", data,
          "\n  lengths ", given);
  const Tensor ends = lengths.defined() ? lengths.to(kLong).cumsum(-1) : offsets.to(kLong).slice(-1, 1);
  const int64_t count = ends.size(-1), n = data.size(axis);
  if (!unsafe && ends.numel() > 0) {
    check(lengths.defined() ? (lengths >= 0).all().item<bool>() : true, "segment_reduce: lengths must not be negative");
    check((ends.select(-1, -1) == n).all().item<bool>(), "segment_reduce: the lengths must add up to ", n);
  }
  Dims positions(given.sizes()), shape(given.sizes()), out_sizes(data.sizes());
  positions.back() = shape.back() = n;
  out_sizes[static_cast<std::size_t>(axis)] = count;
  for (int64_t d = axis + 1; d < data.dim(); ++d) shape.push_back(1);
  const Tensor place = arange(n, ends.options()).expand(positions).contiguous();
  const Tensor segment = searchsorted(ends.contiguous(), place, false, true).reshape(shape).expand(data.sizes());
  const bool mean = reduce == "mean";
  const std::string_view fold = reduce == "max" ? "amax" : reduce == "min" ? "amin" : mean ? "sum" : reduce;
  check(mean || reduce == "sum" || reduce == "max" || reduce == "min" || reduce == "prod",
        "segment_reduce: reduce must be \"sum\", \"mean\", \"max\", \"min\" or \"prod\", got \"", reduce, "\"");
  const double infinity = std::numeric_limits<double>::infinity();
  const double neutral = fold == "amax" ? -infinity : fold == "amin" ? infinity : fold == "prod" ? 1 : 0;
  const Tensor start = full(out_sizes, initial.value_or(Scalar(neutral)), data.options());
  Tensor out = scatter_reduce(start, axis, segment, data, fold);
  if (!mean) return out;
  Dims wide(ends.sizes());
  for (int64_t d = axis + 1; d < data.dim(); ++d) wide.push_back(1);
  const Tensor before = cat({zeros_like(ends.narrow(-1, 0, 1)), ends.narrow(-1, 0, count - 1)}, -1);
  const Tensor lengths_of = (ends - before).reshape(wide).to(data.dtype());
  const Scalar empty = initial ? *initial : Scalar(std::numeric_limits<double>::quiet_NaN());
  return where(lengths_of == 0, full({}, empty, data.options()), out / lengths_of.clamp_min(Scalar(1)));
}

Tensor put(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  check(index.dtype() == kLong, "put: expected an int64 index, got ", index);
  check(source.dtype() == self.dtype(), "put: dtypes differ\n  self   ", self, "\n  source ", source);
  check(source.numel() == index.numel(), "put: expected as many elements as positions\n  index  ", index, "\n  source ",
        source);
  const Tensor flat = self.reshape({-1});
  return index_write(flat, along("put", flat, 0, index.reshape({-1}), true), source.reshape({-1}), accumulate)
      .reshape(self.sizes());
}
Tensor& put_(const Tensor& self, const Tensor& index, const Tensor& source, bool accumulate) {
  return inplace_of(
      self, "put_", [&](const Tensor& x) { return put(x, index, source, accumulate); }, source);
}

Tensor Tensor::scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                              bool include_self) const {
  return tandem::scatter_reduce(*this, dim, index, src, reduce, include_self);
}
Tensor& Tensor::scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                                bool include_self) const {
  return tandem::scatter_reduce_(tandem::detail::mutable_handle(*this), dim, index, src, reduce, include_self);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
  return tandem::scatter(*this, dim, index, src, reduce);
}
Tensor Tensor::scatter(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const {
  return tandem::scatter(*this, dim, index, value, reduce);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const {
  return tandem::scatter_(tandem::detail::mutable_handle(*this), dim, index, src, reduce);
}
Tensor& Tensor::scatter_(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const {
  return tandem::scatter_(tandem::detail::mutable_handle(*this), dim, index, value, reduce);
}
Tensor Tensor::index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                            bool include_self) const {
  return tandem::index_reduce(*this, dim, index, source, reduce, include_self);
}
Tensor& Tensor::index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                              bool include_self) const {
  return tandem::index_reduce_(tandem::detail::mutable_handle(*this), dim, index, source, reduce, include_self);
}
Tensor Tensor::put(const Tensor& index, const Tensor& source, bool accumulate) const {
  return tandem::put(*this, index, source, accumulate);
}
Tensor& Tensor::put_(const Tensor& index, const Tensor& source, bool accumulate) const {
  return tandem::put_(tandem::detail::mutable_handle(*this), index, source, accumulate);
}

}  // namespace tandem
