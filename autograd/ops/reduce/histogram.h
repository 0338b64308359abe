// Histograms over given or equal bins. No gradients.
#pragma once
#include <tuple>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// (counts, edges): the number of elements (or the sum of their `weight`) in each bin from one edge to the next; the
/// last bin includes its right edge, and other elements are left out. `bins`: the ascending edges, or the number of
/// equal bins of `range` (two numbers; by default the smallest and the largest element). With `density`, counts are
/// divided by their sum and the width of the bin. Floating point; weight has self's shape and dtype.
std::tuple<Tensor, Tensor> histogram(const Tensor& self, const Tensor& bins, const Tensor& weight = {},
                                     bool density = false);
std::tuple<Tensor, Tensor> histogram(const Tensor& self, int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                     const Tensor& weight = {}, bool density = false);
/// The same for points in D dimensions: self [..., D], weight [...]; D numbers of bins, and pairs of bounds in `range`.
/// The edges are one vector per dimension.
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, IntArrayRef bins,
                                                    optional<ArrayRef<double>> range = nullopt,
                                                    const Tensor& weight = {}, bool density = false);
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, int64_t bins,
                                                    optional<ArrayRef<double>> range = nullopt,
                                                    const Tensor& weight = {}, bool density = false);
std::tuple<Tensor, std::vector<Tensor>> histogramdd(const Tensor& self, TensorList bins,
                                                    optional<ArrayRef<double>> range = nullopt,
                                                    const Tensor& weight = {}, bool density = false);

}  // namespace tandem
