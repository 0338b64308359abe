// Differences, quantiles, histograms, distances of whole tensors.
#pragma once
#include <tuple>

#include "tandem/core/tensor.h"

namespace tandem {

/// The mean without NaN; NaN where nothing else is. Floating point; no dimensions: all.
Tensor nanmean(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
               optional<ScalarType> dtype = nullopt);
/// n times x[1:] - x[:-1] along `dim` (of bool: whether they differ), prepend and append put before and
/// behind.
Tensor diff(const Tensor& self, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
            const Tensor& append = {});
/// norm(self - other, p)
Tensor dist(const Tensor& self, const Tensor& other, const Scalar& p = 2);
/// How many elements lie in each of `bins` equal parts of [min, max], as floating point; min = max: of the
/// range of the values. Without gradient.
Tensor histc(const Tensor& self, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0);
/// The q-quantile (0 <= q <= 1) along `dim`, or of all elements; between two of them the straight line. With
/// a vector q the results stand along a new first dimension. NaN where there is one.
Tensor quantile(const Tensor& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor quantile(const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false);
/// The most frequent value along `dim` (of several the least), and a place of it.
std::tuple<Tensor, Tensor> mode(const Tensor& self, int64_t dim = -1, bool keepdim = false);
/// Covariances of variables, which are the rows of a matrix, or of one, a vector: [n, n] or [].
Tensor cov(const Tensor& self, int64_t correction = 1);
/// The same divided by the standard deviations.
Tensor corrcoef(const Tensor& self);

}  // namespace tandem
