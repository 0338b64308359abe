// Norms of vectors and matrices, composed of norm(), sums and singular values.
#include <cmath>

#include "tandem/autograd/ops/linalg/linalg.h"
#include "tandem/autograd/ops/linalg/matrix_functions.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/reduce/reduce.h"

namespace tandem {
namespace {
using namespace autograd;

struct TwoDims {
  int64_t first, second;
};
TwoDims two_dims(const char* operation, const Tensor& a, IntArrayRef dim) {
  check(dim.size() == 2, operation, ": dim must have two dimensions, got ", dim);
  check(a.dim() >= 2, operation, ": expected matrices, at least 2 dimensions, got ", a);
  const TwoDims d{wrap_dim(dim[0], a.dim()), wrap_dim(dim[1], a.dim())};
  check(d.first != d.second, operation, ": the two dimensions must differ, got ", dim);
  return d;
}

Tensor values_of(const Tensor& a, TwoDims d) { return linalg_svdvals(a.movedim({d.first, d.second}, {-2, -1})); }
// Gives back the two dimensions, of size 1, that values_of() removed.
Tensor restored(const Tensor& x, TwoDims d, bool keepdim) {
  if (!keepdim) return x;
  return x.unsqueeze(std::min(d.first, d.second)).unsqueeze(std::max(d.first, d.second));
}

// The largest norms along a dimension: 0 if there are none, as for matrices without elements.
Tensor largest(const Tensor& norms, int64_t dim, bool keepdim) {
  return norms.size(dim) == 0 ? norms.sum({dim}, keepdim) : norms.amax({dim}, keepdim);
}

Tensor typed(const Tensor& a, optional<ScalarType> dtype) {
  check(!dtype || is_complex(*dtype) == a.is_complex() || !is_differentiable(a.dtype()),
        "linalg.norm: dtype should be ", a.is_complex() ? "complex" : "real", " for ", a, ", got ",
        dtype.value_or(a.dtype()));
  const Tensor x = as_type(a, dtype.value_or(a.dtype()));
  check(is_differentiable(x.dtype()), "linalg.norm: expected a floating point or complex tensor, got ", x,
        "; pass dtype");
  return x;
}

}  // namespace

Tensor linalg_vector_norm(const Tensor& self, const Scalar& ord, optional<IntArrayRef> dim, bool keepdim,
                          optional<ScalarType> dtype) {
  return tandem::norm(typed(self, dtype), optional<Scalar>(ord), dim.value_or(IntArrayRef{}), keepdim);
}

Tensor linalg__powsum(const Tensor& self, const Scalar& ord, optional<IntArrayRef> dim, bool keepdim,
                      optional<ScalarType> dtype) {
  return typed(self, dtype).abs().pow(ord).sum(dim.value_or(IntArrayRef{}), keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, const Scalar& ord, IntArrayRef dim, bool keepdim,
                          optional<ScalarType> dtype) {
  const Tensor a = typed(self, dtype);
  const TwoDims d = two_dims("linalg.matrix_norm", a, dim);
  const double order = ord.toDouble(), size = std::abs(order);
  check(size == 1 || size == 2 || std::isinf(size), "linalg.matrix_norm: ord must be 1, -1, 2, -2, inf or -inf, got ",
        order);
  if (size == 2) {
    const Tensor s = values_of(a, d);
    return restored(order > 0 ? largest(s, -1, false) : s.amin({-1}), d, keepdim);
  }
  const int64_t summed = size == 1 ? d.first : d.second, chosen = size == 1 ? d.second : d.first;
  const Tensor sums = linalg_vector_norm(a, 1, IntArrayRef{summed}, keepdim);
  const int64_t at = keepdim || chosen < summed ? chosen : chosen - 1;
  return order > 0 ? largest(sums, at, keepdim) : sums.amin({at}, keepdim);
}

Tensor linalg_matrix_norm(const Tensor& self, std::string_view ord, IntArrayRef dim, bool keepdim,
                          optional<ScalarType> dtype) {
  check(ord == "fro" || ord == "nuc", "linalg.matrix_norm: ord must be a number, 'fro' or 'nuc', got '", ord, "'");
  const Tensor a = typed(self, dtype);
  const TwoDims d = two_dims("linalg.matrix_norm", a, dim);
  if (ord == "fro") return linalg_vector_norm(a, 2, dim, keepdim);
  return restored(values_of(a, d).sum({-1}), d, keepdim);
}

Tensor linalg_norm(const Tensor& self, const optional<Scalar>& ord, optional<IntArrayRef> dim, bool keepdim,
                   optional<ScalarType> dtype) {
  if (!ord) return linalg_vector_norm(self, 2, dim, keepdim, dtype);
  if (dim) {
    check(dim->size() == 1 || dim->size() == 2, "linalg.norm: dim must have one or two dimensions, got ", *dim);
    return dim->size() == 1 ? linalg_vector_norm(self, *ord, dim, keepdim, dtype)
                            : linalg_matrix_norm(self, *ord, *dim, keepdim, dtype);
  }
  check(self.dim() == 1 || self.dim() == 2,
        "linalg.norm: with ord and without dim, expected a vector or a matrix, got ", self);
  return self.dim() == 1 ? linalg_vector_norm(self, *ord, dim, keepdim, dtype)
                         : linalg_matrix_norm(self, *ord, {-2, -1}, keepdim, dtype);
}
Tensor linalg_norm(const Tensor& self, std::string_view ord, optional<IntArrayRef> dim, bool keepdim,
                   optional<ScalarType> dtype) {
  check(dim || self.dim() == 2, "linalg.norm: '", ord, "' needs dim or a matrix, got ", self);
  return linalg_matrix_norm(self, ord, dim.value_or(IntArrayRef{-2, -1}), keepdim, dtype);
}

Tensor nuclear_norm(const Tensor& self, bool keepdim) {
  check(self.dim() == 2, "nuclear_norm: expected a matrix, got ", self, "; pass dim");
  return linalg_matrix_norm(self, "nuc", {0, 1}, keepdim);
}
Tensor nuclear_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  return linalg_matrix_norm(self, "nuc", dim, keepdim);
}
Tensor frobenius_norm(const Tensor& self, IntArrayRef dim, bool keepdim) {
  check(dim.size() <= 2, "frobenius_norm: expected at most two dimensions, got ", dim);
  return linalg_vector_norm(self, 2, dim, keepdim);
}

}  // namespace tandem
