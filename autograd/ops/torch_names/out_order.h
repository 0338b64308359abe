// Functions that write to a given tensor (out_write.h): running folds, statistics, sorting and searching.
#pragma once
#include "tandem/autograd/ops/reduce/histogram.h"
#include "tandem/autograd/ops/reduce/running.h"
#include "tandem/autograd/ops/reduce/sort.h"
#include "tandem/autograd/ops/reduce/statistics.h"
#include "tandem/autograd/ops/reduce/unique.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline std::tuple<Tensor&, Tensor&> cummax_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
  return autograd::write_outs("cummax_out", values, indices)(tandem::cummax(self, dim));
}
inline std::tuple<Tensor&, Tensor&> cummin_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim) {
  return autograd::write_outs("cummin_out", values, indices)(tandem::cummin(self, dim));
}
inline Tensor& logcumsumexp_out(Tensor& out, const Tensor& self, int64_t dim) {
  return autograd::write_out("logcumsumexp_out", out)(tandem::logcumsumexp(self, dim));
}
inline Tensor& diff_out(Tensor& out, const Tensor& self, int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {},
                        const Tensor& append = {}) {
  return autograd::write_out("diff_out", out)(tandem::diff(self, n, dim, prepend, append));
}
inline Tensor& dist_out(Tensor& out, const Tensor& self, const Tensor& other, const Scalar& p = 2) {
  return autograd::write_out("dist_out", out)(tandem::dist(self, other, p));
}
inline Tensor& histc_out(Tensor& out, const Tensor& self, int64_t bins = 100, const Scalar& min = 0,
                         const Scalar& max = 0) {
  return autograd::write_out("histc_out", out)(tandem::histc(self, bins, min, max));
}
inline std::tuple<Tensor&, Tensor&> mode_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim = -1,
                                             bool keepdim = false) {
  return autograd::write_outs("mode_out", values, indices)(tandem::mode(self, dim, keepdim));
}
template <OptionalDims Dim>
Tensor& nanmean_out(Tensor& out, const Tensor& self, const Dim& dim, bool keepdim = false,
                    optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("nanmean_out", out)(tandem::nanmean(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline Tensor& nanmean_out(Tensor& out, const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
                           optional<ScalarType> dtype = nullopt) {
  return autograd::write_out("nanmean_out", out)(tandem::nanmean(self, dim, keepdim, dtype.value_or(out.dtype())));
}
inline std::tuple<Tensor&, Tensor&> nanmedian_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim,
                                                  bool keepdim = false) {
  return autograd::write_outs("nanmedian_out", values, indices)(tandem::nanmedian(self, dim, keepdim));
}
inline Tensor& nanmedian_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("nanmedian_out", out)(tandem::nanmedian(self));
}
inline Tensor& nanquantile_out(Tensor& out, const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt,
                               bool keepdim = false, std::string_view interpolation = "linear") {
  return autograd::write_out("nanquantile_out", out)(tandem::nanquantile(self, q, dim, keepdim, interpolation));
}
inline Tensor& nanquantile_out(Tensor& out, const Tensor& self, double q, optional<int64_t> dim = nullopt,
                               bool keepdim = false, std::string_view interpolation = "linear") {
  return autograd::write_out("nanquantile_out", out)(tandem::nanquantile(self, q, dim, keepdim, interpolation));
}
inline Tensor& quantile_out(Tensor& out, const Tensor& self, const Tensor& q, optional<int64_t> dim = nullopt,
                            bool keepdim = false, std::string_view interpolation = "linear") {
  return autograd::write_out("quantile_out", out)(tandem::quantile(self, q, dim, keepdim, interpolation));
}
inline Tensor& quantile_out(Tensor& out, const Tensor& self, double q, optional<int64_t> dim = nullopt,
                            bool keepdim = false, std::string_view interpolation = "linear") {
  return autograd::write_out("quantile_out", out)(tandem::quantile(self, q, dim, keepdim, interpolation));
}
inline std::tuple<Tensor&, Tensor&> histogram_out(Tensor& hist, Tensor& bin_edges, const Tensor& self,
                                                  const Tensor& bins, const Tensor& weight = {}, bool density = false) {
  return autograd::write_outs("histogram_out", hist, bin_edges)(tandem::histogram(self, bins, weight, density));
}
inline std::tuple<Tensor&, Tensor&> histogram_out(Tensor& hist, Tensor& bin_edges, const Tensor& self,
                                                  int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                                  const Tensor& weight = {}, bool density = false) {
  return autograd::write_outs("histogram_out", hist, bin_edges)(tandem::histogram(self, bins, range, weight, density));
}
inline Tensor& argsort_out(Tensor& out, const Tensor& self, bool stable, int64_t dim = -1, bool descending = false) {
  return autograd::write_out("argsort_out", out)(tandem::argsort(self, stable, dim, descending));
}
inline Tensor& bincount_out(Tensor& out, const Tensor& self, const Tensor& weights = {}, int64_t minlength = 0) {
  return autograd::write_out("bincount_out", out)(tandem::bincount(self, weights, minlength));
}
inline std::tuple<Tensor&, Tensor&> kthvalue_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t k,
                                                 int64_t dim = -1, bool keepdim = false) {
  return autograd::write_outs("kthvalue_out", values, indices)(tandem::kthvalue(self, k, dim, keepdim));
}
inline std::tuple<Tensor&, Tensor&> median_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim,
                                               bool keepdim = false) {
  return autograd::write_outs("median_out", values, indices)(tandem::median(self, dim, keepdim));
}
inline Tensor& median_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("median_out", out)(tandem::median(self));
}
inline Tensor& msort_out(Tensor& out, const Tensor& self) {
  return autograd::write_out("msort_out", out)(tandem::msort(self));
}
inline std::tuple<Tensor&, Tensor&> sort_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t dim = -1,
                                             bool descending = false) {
  return autograd::write_outs("sort_out", values, indices)(tandem::sort(self, dim, descending));
}
inline std::tuple<Tensor&, Tensor&> sort_out(Tensor& values, Tensor& indices, const Tensor& self, optional<bool> stable,
                                             int64_t dim = -1, bool descending = false) {
  return autograd::write_outs("sort_out", values, indices)(tandem::sort(self, stable, dim, descending));
}
inline std::tuple<Tensor&, Tensor&> topk_out(Tensor& values, Tensor& indices, const Tensor& self, int64_t k,
                                             int64_t dim = -1, bool largest = true, bool sorted = true) {
  return autograd::write_outs("topk_out", values, indices)(tandem::topk(self, k, dim, largest, sorted));
}
inline Tensor& bucketize_out(Tensor& out, const Tensor& self, const Tensor& boundaries, bool out_int32 = false,
                             bool right = false) {
  return autograd::write_out("bucketize_out", out)(tandem::bucketize(self, boundaries, out_int32, right));
}
inline Tensor& bucketize_out(Tensor& out, const Scalar& self, const Tensor& boundaries, bool out_int32 = false,
                             bool right = false) {
  return autograd::write_out("bucketize_out", out)(tandem::bucketize(self, boundaries, out_int32, right));
}
inline Tensor& isin_out(Tensor& out, const Tensor& elements, const Tensor& test_elements, bool assume_unique = false,
                        bool invert = false) {
  return autograd::write_out("isin_out", out)(tandem::isin(elements, test_elements, assume_unique, invert));
}
inline Tensor& isin_out(Tensor& out, const Tensor& elements, const Scalar& test_element, bool assume_unique = false,
                        bool invert = false) {
  return autograd::write_out("isin_out", out)(tandem::isin(elements, test_element, assume_unique, invert));
}
inline Tensor& isin_out(Tensor& out, const Scalar& element, const Tensor& test_elements, bool assume_unique = false,
                        bool invert = false) {
  return autograd::write_out("isin_out", out)(tandem::isin(element, test_elements, assume_unique, invert));
}
inline Tensor& searchsorted_out(Tensor& out, const Tensor& sorted_sequence, const Tensor& self, bool out_int32 = false,
                                bool right = false, optional<std::string_view> side = nullopt,
                                const Tensor& sorter = {}) {
  return autograd::write_out("searchsorted_out",
                             out)(tandem::searchsorted(sorted_sequence, self, out_int32, right, side, sorter));
}
inline Tensor& searchsorted_out(Tensor& out, const Tensor& sorted_sequence, const Scalar& self, bool out_int32 = false,
                                bool right = false, optional<std::string_view> side = nullopt,
                                const Tensor& sorter = {}) {
  return autograd::write_out("searchsorted_out",
                             out)(tandem::searchsorted(sorted_sequence, self, out_int32, right, side, sorter));
}
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
