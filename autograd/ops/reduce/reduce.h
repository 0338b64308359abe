// Reductions over all, one or several dimensions. An empty list of dimensions means all of them; negative
// dimensions count from the end; keepdim keeps the reduced ones with size 1. Throws Error for a repeated
// dimension, IndexError for one out of range.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Integers and bool are summed as int64 unless `dtype` is given. The sum of an empty tensor is 0.
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
template <OptionalDims Dim>
Tensor sum(const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return self.sum(dim, keepdim, dtype);
}
/// The same, with NaN treated as 0.
Tensor nansum(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt);
template <std::same_as<ScalarType> Type>
Tensor nansum(const Tensor& self, Type dtype) {
  return nansum(self, IntArrayRef(), false, dtype);
}
template <OptionalDims Dim>
Tensor nansum(const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return self.nansum(dim, keepdim, dtype);
}
/// Floating point, or with a floating point `dtype`. The mean of an empty tensor is NaN.
Tensor mean(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
template <OptionalDims Dim>
Tensor mean(const Tensor& self, const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) {
  return self.mean(dim, keepdim, dtype);
}
/// Integers and bool produce int64 unless `dtype` is given. The product of an empty tensor is 1.
Tensor prod(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor prod(const Tensor& self, int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);

/// The largest (smallest) element; NaN propagates. The gradient is shared evenly among equal elements. Throws
/// Error for an empty tensor.
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
/// Values and int64 indices along `dim`: the first of equal elements, which gets the gradient. Throws Error
/// when `dim` has size 0 and the result has elements.
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
/// (amin, amax)
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
/// The first index of the extreme value, int64: along `dim`, or in the flattened tensor.
Tensor argmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);

/// Σ (x - mean)² / (count - correction); unbiased means correction 1, otherwise 0. std is its square root.
/// Floating point; NaN when the divisor is 0. The gradient of std is 0 where std is 0. A number, with or
/// without braces, is a dimension; true and false are not.
Tensor var(const Tensor& self, bool unbiased = true);
Tensor var(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor var(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction, bool keepdim = false);
inline Tensor var(const Tensor& self, int64_t dim) { return var(self, IntArrayRef(dim)); }
inline Tensor var(const Tensor& self, int dim) { return var(self, int64_t{dim}); }
inline Tensor var(const Tensor& self, std::nullopt_t) { return var(self); }
Tensor std(const Tensor& self, bool unbiased = true);
Tensor std(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction, bool keepdim = false);
inline Tensor std(const Tensor& self, int64_t dim) { return std(self, IntArrayRef(dim)); }
inline Tensor std(const Tensor& self, int dim) { return std(self, int64_t{dim}); }
inline Tensor std(const Tensor& self, std::nullopt_t) { return std(self); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction,
                                    bool keepdim = false);
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int64_t dim) { return var_mean(self, IntArrayRef(dim)); }
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim) { return var_mean(self, int64_t{dim}); }
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, std::nullopt_t) { return var_mean(self); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction,
                                    bool keepdim = false);
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int64_t dim) { return std_mean(self, IntArrayRef(dim)); }
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int dim) { return std_mean(self, int64_t{dim}); }
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, std::nullopt_t) { return std_mean(self); }

/// (Σ |x|^p)^(1/p) of the elements, for any p. p = 0 counts the nonzero elements; ±infinity selects the
/// largest or smallest |x|. Floating point. Throws Error for negative and infinite p if there are no elements, or a
/// named dimension has none.
Tensor norm(const Tensor& self, const Scalar& p = 2);
Tensor norm(const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false,
            optional<ScalarType> dtype = nullopt);
Tensor norm(const Tensor& self, const optional<Scalar>& p, ScalarType dtype);
/// A copy of self in which each slice along `dim` whose p-norm is larger than maxnorm is scaled down to it.
Tensor renorm(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
Tensor& renorm_(const Tensor& self, const Scalar& p, int64_t dim, const Scalar& maxnorm);
/// log Σ exp(x). Floating point (other dtypes are converted to the default dtype); -infinity for an empty
/// tensor.
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false);

/// bool, for any dtype (uint8 for uint8). For an empty tensor: true for all, false for any. Here an empty
/// list of dimensions reduces none: the result is the truth value of each element.
Tensor all(const Tensor& self);
Tensor all(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor all(const Tensor& self, IntArrayRef dim, bool keepdim = false);
template <OptionalDims Dim>
Tensor all(const Tensor& self, const Dim& dim, bool keepdim = false) {
  return self.all(dim, keepdim);
}
Tensor any(const Tensor& self);
Tensor any(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor any(const Tensor& self, IntArrayRef dim, bool keepdim = false);
template <OptionalDims Dim>
Tensor any(const Tensor& self, const Dim& dim, bool keepdim = false) {
  return self.any(dim, keepdim);
}
/// Result int64. No dimension means all.
Tensor count_nonzero(const Tensor& self, IntArrayRef dim = {});
template <class Dim>
requires(std::same_as<Dim, optional<int64_t>> || std::same_as<Dim, std::nullopt_t>) Tensor
    count_nonzero(const Tensor& self, const Dim& dim) {
  return self.count_nonzero(dim);
}

/// Cumulative sum (product) along `dim`. Integers and bool produce int64 unless `dtype` is given.
Tensor cumsum(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor cumprod(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);

namespace autograd {
/// `sizes` with the dimensions in `mask` set to 1 or removed.
Dims reduced_sizes(IntArrayRef sizes, uint32_t mask, bool keepdim);
/// `t` without the size-1 dimensions in `mask`, unless keepdim: the last step of a reduction. Not recorded.
Tensor drop_dims(const Tensor& t, uint32_t mask, bool keepdim);
/// A reduced tensor in its keepdim shape, which expands to the input's shape. Differentiable.
Tensor restore_dims(const Tensor& reduced, IntArrayRef input_sizes, uint32_t mask, bool keepdim);
/// Product of the sizes of the dimensions in `mask`.
int64_t reduced_numel(IntArrayRef sizes, uint32_t mask);
}  // namespace autograd

}  // namespace tandem
