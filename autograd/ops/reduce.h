// Reductions over all, one or several dimensions. An empty list of dimensions means all of them; negative
// dimensions count from the end; keepdim leaves the reduced ones with size 1. Throws Error on a repeated
// dimension, IndexError on one out of range.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// Integers and bool are summed as int64 unless `dtype` says otherwise. The sum of nothing is 0.
Tensor sum(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor sum(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// The same with NaN counting as 0.
Tensor nansum(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false,
              optional<ScalarType> dtype = nullopt);
template <std::same_as<ScalarType> Type>
Tensor nansum(const Tensor& self, Type dtype) {
  return nansum(self, IntArrayRef(), false, dtype);
}
/// Floating point, or with a floating point `dtype`. The mean of nothing is NaN.
Tensor mean(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor mean(const Tensor& self, IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);
/// Integers and bool give int64 unless `dtype` says otherwise. The product of nothing is 1.
Tensor prod(const Tensor& self, optional<ScalarType> dtype = nullopt);
Tensor prod(const Tensor& self, int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt);

/// The largest (smallest) element; NaN wins. Gradients are shared evenly by equal elements. Throws Error for
/// an empty tensor.
Tensor max(const Tensor& self);
Tensor min(const Tensor& self);
/// Values and int64 indices along `dim`: of equal elements the first. The gradient goes to that one. Throws
/// Error when `dim` has size 0 and the result has elements.
std::tuple<Tensor, Tensor> max(const Tensor& self, int64_t dim, bool keepdim = false);
std::tuple<Tensor, Tensor> min(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor amax(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
Tensor amin(const Tensor& self, IntArrayRef dim = {}, bool keepdim = false);
/// (amin, amax)
std::tuple<Tensor, Tensor> aminmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
/// The first index of the extreme, int64: along `dim`, or in the flattened tensor.
Tensor argmax(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);
Tensor argmin(const Tensor& self, optional<int64_t> dim = nullopt, bool keepdim = false);

/// Σ (x - mean)² / (count - correction); unbiased means correction 1, else 0. std is its root. Floating
/// point; NaN where nothing is left to divide by. The gradient of std where it is 0 is 0. A number, with
/// braces or without, is a dimension; true and false are not.
Tensor var(const Tensor& self, bool unbiased = true);
Tensor var(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor var(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction,
           bool keepdim = false);
inline Tensor var(const Tensor& self, int64_t dim) { return var(self, IntArrayRef(dim)); }
inline Tensor var(const Tensor& self, int dim) { return var(self, int64_t{dim}); }
inline Tensor var(const Tensor& self, std::nullopt_t) { return var(self); }
Tensor std(const Tensor& self, bool unbiased = true);
Tensor std(const Tensor& self, IntArrayRef dim, bool unbiased = true, bool keepdim = false);
Tensor std(const Tensor& self, optional<IntArrayRef> dim, const optional<Scalar>& correction,
           bool keepdim = false);
inline Tensor std(const Tensor& self, int64_t dim) { return std(self, IntArrayRef(dim)); }
inline Tensor std(const Tensor& self, int dim) { return std(self, int64_t{dim}); }
inline Tensor std(const Tensor& self, std::nullopt_t) { return std(self); }
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> var_mean(const Tensor& self, optional<IntArrayRef> dim,
                                    const optional<Scalar>& correction, bool keepdim = false);
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int64_t dim) {
  return var_mean(self, IntArrayRef(dim));
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, int dim) {
  return var_mean(self, int64_t{dim});
}
inline std::tuple<Tensor, Tensor> var_mean(const Tensor& self, std::nullopt_t) { return var_mean(self); }
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, bool unbiased = true);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, IntArrayRef dim, bool unbiased = true,
                                    bool keepdim = false);
std::tuple<Tensor, Tensor> std_mean(const Tensor& self, optional<IntArrayRef> dim,
                                    const optional<Scalar>& correction, bool keepdim = false);
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int64_t dim) {
  return std_mean(self, IntArrayRef(dim));
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, int dim) {
  return std_mean(self, int64_t{dim});
}
inline std::tuple<Tensor, Tensor> std_mean(const Tensor& self, std::nullopt_t) { return std_mean(self); }

/// (Σ |x|^p)^(1/p) of the elements, for any p; 0: how many are not 0; ±infinity: the largest, smallest |x|.
/// Floating point.
Tensor norm(const Tensor& self, const Scalar& p = 2);
Tensor norm(const Tensor& self, const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false,
            optional<ScalarType> dtype = nullopt);
Tensor norm(const Tensor& self, const optional<Scalar>& p, ScalarType dtype);
/// log Σ exp(x). Floating point (others are converted to the default dtype); of nothing it is -infinity.
Tensor logsumexp(const Tensor& self, IntArrayRef dim, bool keepdim = false);

/// bool, of any dtype (of uint8: uint8). Of nothing: true, false. Here an empty list of dimensions reduces
/// none: it gives the truth of each element.
Tensor all(const Tensor& self);
Tensor all(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor all(const Tensor& self, IntArrayRef dim, bool keepdim = false);
Tensor any(const Tensor& self);
Tensor any(const Tensor& self, int64_t dim, bool keepdim = false);
Tensor any(const Tensor& self, IntArrayRef dim, bool keepdim = false);
/// int64.
Tensor count_nonzero(const Tensor& self, IntArrayRef dim = {});

/// Running sum (product) along `dim`. Integers and bool give int64 unless `dtype` says otherwise.
Tensor cumsum(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);
Tensor cumprod(const Tensor& self, int64_t dim, optional<ScalarType> dtype = nullopt);

namespace autograd {
/// `sizes` with the dimensions of `mask` set to 1, or left out.
Dims reduced_sizes(IntArrayRef sizes, uint32_t mask, bool keepdim);
/// `t` without the size-1 dimensions of `mask` unless keepdim: the last step of a reduction. Not recorded.
Tensor drop_dims(const Tensor& t, uint32_t mask, bool keepdim);
/// A tensor of the reduced shape as it looks with keepdim: expandable to the input's shape. Differentiable.
Tensor restore_dims(const Tensor& reduced, IntArrayRef input_sizes, uint32_t mask, bool keepdim);
/// Product of the sizes in `mask`.
int64_t reduced_numel(IntArrayRef sizes, uint32_t mask);
}  // namespace autograd

}  // namespace tandem
