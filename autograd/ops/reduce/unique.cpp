// searchsorted and unique, built on the stable sort: runs of equal elements, and ranks.
#include "tandem/autograd/ops/reduce/unique.h"

#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/sort.h"
#include "tandem/autograd/ops/view/cat.h"

namespace tandem {
namespace {
using namespace autograd;

// [B, n] sorted, [B, m] values → [B, m]. Sorts both together, with an equal value after the sorted ones
// (`right`) or before them. The result is the number of sorted elements before each value.
Tensor ranks(const Tensor& sorted, const Tensor& values, bool right) {
  const int64_t n = sorted.size(1), m = values.size(1);
  const Tensor all = right ? cat({sorted, values}, 1) : cat({values, sorted}, 1);
  const Tensor order = argsort(all, 1);
  const Tensor from_sorted = (right ? order < n : order >= m).to(kLong);
  const Tensor before = from_sorted.cumsum(1);
  return zeros_like(order).scatter(1, order, before).narrow(1, right ? n : 0, m);
}

bool right_of(bool right, optional<std::string_view> side) {
  if (!side) return right;
  check(*side == "left" || *side == "right", "searchsorted: side must be 'left' or 'right', got '", *side, "'");
  check(*side == "right" || !right, "searchsorted: side 'left' contradicts right = true");
  return *side == "right";
}

struct Runs {
  Tensor starts;   // bool [n]: whether an element begins a run
  Tensor numbers;  // int64 [n]: the number of each element's run
};
Runs runs_of(const Tensor& differs) {  // bool [n - 1], or [0] when n <= 1
  const Tensor first = ones({1}, differs.options());
  const Tensor starts = cat({first, differs});
  return {starts, starts.to(kLong).cumsum(0) - 1};
}
// Whether each element, or each row, differs from the one before it.
Tensor differences(const Tensor& rows) {
  const int64_t n = rows.size(0);
  const Tensor differ = ne(rows.narrow(0, 1, n - 1), rows.narrow(0, 0, n - 1));
  return rows.dim() == 1 ? differ : differ.flatten(1).any(1);
}
Tensor nothing(const Tensor& self) { return empty({0}, self.options().dtype(kLong)); }

using Result = std::tuple<Tensor, Tensor, Tensor>;

// Rows [n, …] in the order `order` (undefined: in their existing order), with the runs given by `differs`.
Result chosen(const Tensor& rows, const Tensor& order, const Tensor& differs, bool inverse, bool counts) {
  const Runs runs = runs_of(differs);
  const Tensor places = runs.starts.nonzero().reshape({-1});
  const Tensor from = order.defined() ? order.index_select(0, places) : places;
  Tensor number = nothing(rows), count = nothing(rows);
  if (inverse) number = order.defined() ? zeros_like(order).scatter(0, order, runs.numbers) : runs.numbers;
  if (counts) count = bincount(runs.numbers, {}, places.numel());
  return {rows.index_select(0, from), number, count};
}

Tensor check_slices(const char* operation, const Tensor& self, int64_t dim) {
  check(self.dim() > 0, operation, ": expected at least one dimension, got ", self);
  return self.detach().movedim(wrap_dim(dim, self.dim()), 0).contiguous();
}

Result chosen_slices(const Tensor& rows, const Tensor& order, int64_t dim, bool inverse, bool counts) {
  Result out = chosen(rows, order, differences(order.defined() ? rows.index_select(0, order) : rows), inverse, counts);
  std::get<0>(out) = std::get<0>(out).movedim(0, wrap_dim(dim, rows.dim())).contiguous();
  return out;
}

// All elements, in ascending order or as they come.
Result chosen_elements(const Tensor& self, bool sort, bool inverse, bool counts) {
  Tensor row = self.detach().reshape({-1}), sorted = row, order;
  if (row.numel() == 0)
    return {row.clone(), inverse ? empty(self.sizes(), self.options().dtype(kLong)) : nothing(self), nothing(self)};
  if (sort) std::tie(sorted, order) = tandem::sort(row);
  Result out = chosen(row, order, differences(sorted), inverse, counts);
  if (inverse) std::get<1>(out) = std::get<1>(out).reshape(self.sizes());
  return out;
}

}  // namespace

Tensor searchsorted(const Tensor& sorted_sequence, const Tensor& self, bool out_int32, bool right,
                    optional<std::string_view> side, const Tensor& sorter) {
  right = right_of(right, side);
  Tensor sorted = sorted_sequence.detach();
  check(sorted.dim() > 0, "searchsorted: sorted_sequence must have at least one dimension");
  if (sorter.defined()) sorted = sorted.gather(-1, sorter);
  const bool one = sorted.dim() == 1;
  if (!one) {
    bool fits = self.dim() == sorted.dim();
    for (int64_t d = 0; fits && d + 1 < self.dim(); ++d) fits = self.size(d) == sorted.size(d);
    check(fits, "searchsorted: dimensions before the last must be equal\n  sorted_sequence ", sorted,
          "\n  self            ", self);
  }
  check(sorted.dtype() == self.dtype() || self.dim() == 0, "searchsorted: dtypes differ\n  sorted_sequence ", sorted,
        "\n  self            ", self);
  const ScalarType type = result_type(sorted, self), out = out_int32 ? kInt : kLong;
  if (self.numel() == 0) return empty(self.sizes(), self.options().dtype(out));
  const int64_t rows = one ? 1 : self.numel() / self.size(-1);
  const Tensor rank = ranks(as_type(sorted, type).reshape({rows, sorted.size(-1)}),
                            as_type(self.detach(), type).reshape({rows, self.numel() / rows}), right);
  return rank.reshape(self.sizes()).to(out);
}
Tensor searchsorted(const Tensor& sorted_sequence, const Scalar& self, bool out_int32, bool right,
                    optional<std::string_view> side, const Tensor& sorter) {
  const Tensor value = full({}, self, TensorOptions(sorted_sequence.device()));
  return searchsorted(sorted_sequence, value, out_int32, right, side, sorter);
}
Tensor bucketize(const Tensor& self, const Tensor& boundaries, bool out_int32, bool right) {
  check(boundaries.dim() == 1, "bucketize: boundaries must be a vector, got ", boundaries);
  return searchsorted(boundaries, self, out_int32, right);
}
Tensor bucketize(const Scalar& self, const Tensor& boundaries, bool out_int32, bool right) {
  check(boundaries.dim() == 1, "bucketize: boundaries must be a vector, got ", boundaries);
  return searchsorted(boundaries, self, out_int32, right);
}

Tensor isin(const Tensor& elements, const Tensor& test_elements, bool, bool invert) {
  const ScalarType type = result_type(elements, test_elements);
  const Tensor x = as_type(elements.detach(), type), row = as_type(test_elements.detach(), type).reshape({-1});
  if (row.numel() == 0) return full(x.sizes(), invert, TensorOptions(kBool).device(x.device()));
  const Tensor sorted = std::get<0>(tandem::sort(row));
  const Tensor place = searchsorted(sorted, x.reshape({-1})).clamp_max(Scalar(row.numel() - 1));
  const Tensor found = eq(sorted.index_select(0, place), x.reshape({-1})).reshape(x.sizes());
  return invert ? logical_not(found) : found;
}
Tensor isin(const Tensor& elements, const Scalar& test_element, bool, bool invert) {
  return invert ? ne(elements, test_element) : eq(elements, test_element);
}
Tensor isin(const Scalar& element, const Tensor& test_elements, bool, bool invert) {
  const Tensor found = eq(test_elements, element).any();
  return invert ? logical_not(found) : found;
}

Result _unique2(const Tensor& self, bool, bool return_inverse, bool return_counts) {
  return chosen_elements(self, true, return_inverse, return_counts);
}
std::tuple<Tensor, Tensor> _unique(const Tensor& self, bool sorted, bool return_inverse) {
  const auto [values, inverse, counts] = _unique2(self, sorted, return_inverse, false);
  return {values, inverse};
}

// Sorts by the last column first; the sort is stable.
Result unique_dim(const Tensor& self, int64_t dim, bool, bool return_inverse, bool return_counts) {
  refuse_complex("unique_dim", self);
  const Tensor rows = check_slices("unique_dim", self, dim);
  const int64_t n = rows.size(0);
  if (rows.numel() == 0) {
    check(n == 0, "unique_dim: the slices must have elements, got ", self);
    return {self.clone(), nothing(self), nothing(self)};
  }
  const Tensor flat = rows.reshape({n, rows.numel() / n});
  Tensor order = arange(n, TensorOptions(kLong).device(self.device()));
  for (int64_t c = flat.size(1); c-- > 0;)
    order = order.index_select(0, argsort(flat.select(1, c).index_select(0, order)));
  return chosen_slices(rows, order, dim, return_inverse, return_counts);
}

Result unique_consecutive(const Tensor& self, bool return_inverse, bool return_counts, optional<int64_t> dim) {
  refuse_complex("unique_consecutive", self);
  if (!dim) return chosen_elements(self, false, return_inverse, return_counts);
  const Tensor rows = check_slices("unique_consecutive", self, *dim);
  if (rows.numel() == 0) return {self.clone(), nothing(self), nothing(self)};
  return chosen_slices(rows, {}, *dim, return_inverse, return_counts);
}

Result unique_dim_consecutive(const Tensor& self, int64_t dim, bool return_inverse, bool return_counts) {
  return unique_consecutive(self, return_inverse, return_counts, dim);
}

}  // namespace tandem
