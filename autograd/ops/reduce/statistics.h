// Differences, quantiles, histograms and other statistics.
#pragma once
#include <string_view>
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// The mean of the elements that are not NaN; NaN if there are none. Floating point. No dimensions means all.
Tensor nanmean(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt);
template <OptionalDims Dim>
Tensor nanmean(const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return self.nanmean(dim, keepdim, dtype);
}
/// Applies x[1:] - x[:-1] along `dim` n times (for bool: whether they differ), after joining prepend before
/// and append after x.
Tensor diff(const Tensor& self, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {});
/// norm(self - other, p)
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p = 2);
/// The number of elements in each of `bins` equal intervals of [min, max], as floating point. With min = max,
/// the range is from the smallest value to the largest. No gradient.
Tensor histc(const Tensor& self, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);
/// The q-quantile (0 <= q <= 1) along `dim`, or of all elements. For a vector q the results are along a new first
/// dimension. NaN if any element is NaN; nanquantile leaves NaN out. interpolation between the two elements next to the
/// quantile: "linear", "lower", "higher", "midpoint" or "nearest".
Tensor quantile(const Tensor& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor quantile(const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                   std::string_view interpolation = "linear");
Tensor nanquantile(const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                   std::string_view interpolation = "linear");
/// The lower median of the elements that are not NaN, NaN if there are none; (values, indices) along `dim`.
Tensor nanmedian(const Tensor& self);
std::tuple<Tensor, Tensor> nanmedian(const Tensor& self, int64_t dim, bool keepdim = false);
/// The most frequent value along `dim` (the smallest of several), and the index of one occurrence.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim = -1, bool keepdim = false);
/// Covariance matrix of the variables in the rows of a matrix, or the variance of a vector: [n, n] or []. A column
/// counts as fweights (integers) times, and weighs aweights (floating point); the vectors are not negative.
Tensor cov(const Tensor& self, int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {});
/// Correlation coefficients: covariances divided by the standard deviations.
Tensor corrcoef(const Tensor& self);

}  // namespace tandem
