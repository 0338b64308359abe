// Running extremes and log-sums, integrals by the trapezoidal rule, and derivatives by finite differences.
#pragma once
#include <tuple>
#include <vector>

#include "tandem/core/tensor.h"

namespace tandem {

/// (values, int64 indices): the largest (smallest) element up to each position along `dim`, and its index: the last of
/// equal ones. NaN propagates. The gradient goes to the selected elements.
std::tuple<Tensor, Tensor> cummax(const Tensor& self, int64_t dim);
std::tuple<Tensor, Tensor> cummin(const Tensor& self, int64_t dim);
/// log Σ exp(x) of the elements up to each position. Floating point.
Tensor logcumsumexp(const Tensor& self, int64_t dim);

/// The integral along `dim` by the trapezoidal rule, at the points x or a distance dx apart. x has y's shape, or is a
/// vector of the size of `dim`, or broadcasts with y.
Tensor trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapz(const Tensor& y, const Tensor& x, int64_t dim = -1);
Tensor trapz(const Tensor& y, double dx = 1, int64_t dim = -1);
/// The integrals from the first point to every other: size - 1 of them.
Tensor cumulative_trapezoid(const Tensor& y, const Scalar& dx = 1, int64_t dim = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int64_t dim = -1);

/// The derivative along each of `dim` (all, or one) by second-order finite differences: central inside, one-sided of
/// order edge_order (1 or 2) at the ends. The points are `spacing` apart (one number for all dimensions, or one for
/// each), or given as one vector per dimension.
std::vector<Tensor> gradient(const Tensor& self, const optional<Scalar>& spacing = nullopt,
                             optional<int64_t> dim = nullopt, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, const Scalar& spacing, IntArrayRef dim, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, IntArrayRef dim, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, optional<int64_t> dim = nullopt,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, ArrayRef<Scalar> spacing, IntArrayRef dim, int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, optional<int64_t> dim = nullopt,
                             int64_t edge_order = 1);
std::vector<Tensor> gradient(const Tensor& self, TensorList spacing, IntArrayRef dim, int64_t edge_order = 1);

}  // namespace tandem
