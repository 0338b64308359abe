// histogram, histogramdd: the bin of each element by bisection of the edges, then a sum over equal bins.
#include "tandem/autograd/ops/reduce/histogram.h"

#include <cmath>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/unique.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/base/checked_sizes.h"

namespace tandem {
namespace {

// [points, D] without history.
Tensor points_of(const char* operation, const Tensor& self) {
  autograd::check_floating_point(operation, self);
  check(self.dim() >= 2, operation, ": expected at least 2 dimensions, got ", self);
  return self.detach().reshape({-1, self.size(-1)});
}

// bins + 1 edges of equal bins for the values x.
Tensor equal_edges(const char* operation, const Tensor& x, int64_t bins, const double* range) {
  check(bins > 0, operation, ": expected at least one bin, got ", bins);
  double low = 0, high = x.numel() == 0 ? 1 : 0;
  if (range != nullptr) {
    low = range[0];
    high = range[1];
  } else if (x.numel() > 0) {
    low = x.min().item<double>();
    high = x.max().item<double>();
  }
  check(std::isfinite(low) && std::isfinite(high) && low <= high, operation,
        ": the range must be finite and ascending, got [", low, ", ", high, "]");
  if (low == high) {
    low -= 0.5;
    high += 0.5;
  }
  return linspace(low, high, add_sizes(operation, bins, 1), x.options());
}

void check_edges(const char* operation, const Tensor& self, const Tensor& edges) {
  check(edges.dim() == 1 && edges.numel() > 1 && edges.dtype() == self.dtype(), operation,
        ": expected a vector of at least two edges with self's dtype\n  self ", self, "\n  bins ", edges);
}

// Counts of points [N, D] in the bins with these edges.
Tensor counted(const char* operation, const Tensor& points, const std::vector<Tensor>& edges, const Tensor& weight,
               bool density) {
  Dims sizes;
  Tensor place = zeros({points.size(0)}, points.options().dtype(kLong)), inside = ones_like(place, kBool);
  for (std::size_t d = 0; d < edges.size(); ++d) {
    const Tensor x = points.select(1, static_cast<int64_t>(d)).contiguous();
    const int64_t bins = edges[d].numel() - 1;
    const Tensor bin = searchsorted(edges[d], x, false, true) - 1;
    inside = logical_and(inside, logical_and(x >= edges[d][0], x <= edges[d][-1]));
    place = place * bins + bin.clamp(Scalar(0), Scalar(bins - 1));
    sizes.push_back(bins);
  }
  const Tensor values = weight.defined() ? weight.detach().reshape({-1}) : ones({points.size(0)}, points.options());
  check(values.numel() == points.size(0) && values.dtype() == points.dtype(), operation,
        ": expected one weight of self's dtype per element, got ", weight);
  Tensor count = zeros({checked_numel(sizes)}, points.options())
                     .index_add(0, place.masked_select(inside), values.masked_select(inside))
                     .view(sizes);
  if (!density) return count;
  count = count / count.sum();
  for (std::size_t d = 0; d < edges.size(); ++d) {
    Dims shape(sizes.size(), 1);
    shape[d] = -1;
    count = count / (edges[d].slice(0, 1) - edges[d].slice(0, 0, -1)).view(shape);
  }
  return count;
}

}  // namespace

std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const Tensor& weight, bool density) {
  const Tensor points = points_of("histogram", self.reshape({-1, 1})), edges = bins.detach().contiguous();
  check_edges("histogram", self, edges);
  return {counted("histogram", points, {edges}, weight, density), edges};
}
std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins, optional<ArrayRef<double>> range,
                                     const Tensor& weight, bool density) {
  const Tensor points = points_of("histogram", self.reshape({-1, 1}));
  check(!range || range->size() == 2, "histogram: range must have two numbers");
  const Tensor edges = equal_edges("histogram", points, bins, range ? range->data() : nullptr);
  return {counted("histogram", points, {edges}, weight, density), edges};
}

std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, IntArrayRef bins,
                                                    optional<ArrayRef<double>> range, const Tensor& weight,
                                                    bool density) {
  const Tensor points = points_of("histogramdd", self);
  check(static_cast<int64_t>(bins.size()) == points.size(1), "histogramdd: ", bins.size(), " numbers of bins for ",
        points.size(1), " dimensions");
  check(!range || range->size() == 2 * bins.size(), "histogramdd: range must have two numbers per dimension");
  std::vector<Tensor> edges;
  for (std::size_t d = 0; d < bins.size(); ++d)
    edges.push_back(equal_edges("histogramdd", points.select(1, static_cast<int64_t>(d)), bins[d],
                                range ? range->data() + 2 * d : nullptr));
  return {counted("histogramdd", points, edges, weight, density), edges};
}
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, int64_t bins, optional<ArrayRef<double>> range,
                                                    const Tensor& weight, bool density) {
  check(self.dim() >= 2, "histogramdd: expected at least 2 dimensions, got ", self);
  const std::vector<int64_t> equal(static_cast<std::size_t>(self.size(-1)), bins);
  return histogramdd(self, IntArrayRef(equal), range, weight, density);
}
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, TensorList bins, optional<ArrayRef<double>>,
                                                    const Tensor& weight, bool density) {
  const Tensor points = points_of("histogramdd", self);
  check(static_cast<int64_t>(bins.size()) == points.size(1), "histogramdd: ", bins.size(), " vectors of edges for ",
        points.size(1), " dimensions");
  std::vector<Tensor> edges;
  for (const Tensor& t : bins) {
    edges.push_back(t.detach().contiguous());
    check_edges("histogramdd", self, edges.back());
  }
  return {counted("histogramdd", points, edges, weight, density), edges};
}

std::tuple<Tensor, Tensor> Tensor::histogram(const Tensor& bins, const Tensor& weight, bool density) const {
  return tandem::histogram(*this, bins, weight, density);
}
std::tuple<Tensor, Tensor> Tensor::histogram(int64_t bins, optional<ArrayRef<double>> range, const Tensor& weight,
                                             bool density) const {
  return tandem::histogram(*this, bins, range, weight, density);
}

}  // namespace tandem
