// Functions that write to a given tensor (out_write.h): running folds, statistics, sorting and searching.
#pragma once
#include "tandem/autograd/ops/reduce/histogram.h"
#include "tandem/autograd/ops/reduce/running.h"
#include "tandem/autograd/ops/reduce/sort.h"
#include "tandem/autograd/ops/reduce/statistics.h"
#include "tandem/autograd/ops/reduce/unique.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT2(cummax, values, indices, (const Tensor& self, int64_t dim), self, dim)
TANDEM_OUT2(cummin, values, indices, (const Tensor& self, int64_t dim), self, dim)
TANDEM_OUT(logcumsumexp, (const Tensor& self, int64_t dim), self, dim)
TANDEM_OUT(diff,
           (const Tensor& self, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {}),
           self, n, dim, prepend, append)
TANDEM_OUT(dist, (const Tensor& self, const Tensor& other, const Scalar& p = 2), self, other, p)
TANDEM_OUT(histc, (const Tensor& self, int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0), self, bins,
           min, max)
TANDEM_OUT2(mode, values, indices, (const Tensor& self, int64_t dim = -1, bool keepdim = false), self, dim, keepdim)
template <OptionalDims Dim>
TANDEM_OUT(nanmean, (const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt),
           self, dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT(nanmean,
           (const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt), self,
           dim, keepdim, dtype.value_or(out.dtype()))
TANDEM_OUT2(nanmedian, values, indices, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(nanmedian, (const Tensor& self), self)
TANDEM_OUT(nanquantile,
           (const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
            std::string_view interpolation = "linear"),
           self, q, dim, keepdim, interpolation)
TANDEM_OUT(nanquantile,
           (const Tensor& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
            std::string_view interpolation = "linear"),
           self, q, dim, keepdim, interpolation)
TANDEM_OUT(quantile,
           (const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
            std::string_view interpolation = "linear"),
           self, q, dim, keepdim, interpolation)
TANDEM_OUT(quantile,
           (const Tensor& self, double q, optional<int64_t> dim = nullopt, bool keepdim = false,
            std::string_view interpolation = "linear"),
           self, q, dim, keepdim, interpolation)
TANDEM_OUT2(histogram, hist, bin_edges,
            (const Tensor& self, const Tensor& bins, const Tensor& weight = {}, bool density = false), self, bins,
            weight, density)
TANDEM_OUT2(histogram, hist, bin_edges,
            (const Tensor& self, int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
             const Tensor& weight = {}, bool density = false),
            self, bins, range, weight, density)
TANDEM_OUT(argsort, (const Tensor& self, bool stable, int64_t dim = -1, bool descending = false), self, stable, dim,
           descending)
TANDEM_OUT(bincount, (const Tensor& self, const Tensor& weights = {}, int64_t minlength = 0), self, weights, minlength)
TANDEM_OUT2(kthvalue, values, indices, (const Tensor& self, int64_t k, int64_t dim = -1, bool keepdim = false), self, k,
            dim, keepdim)
TANDEM_OUT2(median, values, indices, (const Tensor& self, int64_t dim, bool keepdim = false), self, dim, keepdim)
TANDEM_OUT(median, (const Tensor& self), self)
TANDEM_OUT(msort, (const Tensor& self), self)
TANDEM_OUT2(sort, values, indices, (const Tensor& self, int64_t dim = -1, bool descending = false), self, dim,
            descending)
TANDEM_OUT2(sort, values, indices,
            (const Tensor& self, optional<bool> stable, int64_t dim = -1, bool descending = false), self, stable, dim,
            descending)
TANDEM_OUT2(topk, values, indices,
            (const Tensor& self, int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true), self, k, dim,
            largest, sorted)
TANDEM_OUT(bucketize, (const Tensor& self, const Tensor& boundaries, bool out_int32 = false, bool right = false), self,
           boundaries, out_int32, right)
TANDEM_OUT(bucketize, (const Scalar& self, const Tensor& boundaries, bool out_int32 = false, bool right = false), self,
           boundaries, out_int32, right)
TANDEM_OUT(isin, (const Tensor& elements, const Tensor& test_elements, bool assume_unique = false, bool invert = false),
           elements, test_elements, assume_unique, invert)
TANDEM_OUT(isin, (const Tensor& elements, const Scalar& test_element, bool assume_unique = false, bool invert = false),
           elements, test_element, assume_unique, invert)
TANDEM_OUT(isin, (const Scalar& element, const Tensor& test_elements, bool assume_unique = false, bool invert = false),
           element, test_elements, assume_unique, invert)
TANDEM_OUT(searchsorted,
           (const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false, bool right = false,
            optional<std::string_view> side = nullopt, const Tensor& sorter = {}),
           sorted_sequence, self, out_int32, right, side, sorter)
TANDEM_OUT(searchsorted,
           (const Tensor& sorted_sequence, const Scalar& self, bool out_int32 = false, bool right = false,
            optional<std::string_view> side = nullopt, const Tensor& sorter = {}),
           sorted_sequence, self, out_int32, right, side, sorter)
inline std::tuple<Tensor&, Tensor&, Tensor&> unique_consecutive_out(Tensor& out0, Tensor& out1, Tensor& out2,
                                                                    const Tensor& self, bool return_inverse = false,
                                                                    bool return_counts = false,
                                                                    optional<int64_t> dim = nullopt) {
  return autograd::write_outs("unique_consecutive_out", out0, out1,
                              out2)(tandem::unique_consecutive(self, return_inverse, return_counts, dim));
}
inline std::tuple<Tensor&, Tensor&, Tensor&> unique_dim_out(Tensor& out0, Tensor& out1, Tensor& out2,
                                                            const Tensor& self, int64_t dim, bool sorted = true,
                                                            bool return_inverse = false, bool return_counts = false) {
  return autograd::write_outs("unique_dim_out", out0, out1,
                              out2)(tandem::unique_dim(self, dim, sorted, return_inverse, return_counts));
}
inline std::tuple<Tensor&, Tensor&, Tensor&> unique_dim_consecutive_out(Tensor& out0, Tensor& out1, Tensor& out2,
                                                                        const Tensor& self, int64_t dim,
                                                                        bool return_inverse = false,
                                                                        bool return_counts = false) {
  return autograd::write_outs("unique_dim_consecutive_out", out0, out1,
                              out2)(tandem::unique_dim_consecutive(self, dim, return_inverse, return_counts));
}

}  // namespace tandem
