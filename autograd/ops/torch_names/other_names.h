// Aliases of functions under their other PyTorch names.
#pragma once
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/view/cat.h"
#include "tandem/autograd/ops/view/view.h"

namespace tandem {

inline Tensor arcsin(const Tensor& self) { return asin(self); }
inline Tensor arccos(const Tensor& self) { return acos(self); }
inline Tensor arctan(const Tensor& self) { return atan(self); }
inline Tensor arcsinh(const Tensor& self) { return asinh(self); }
inline Tensor arccosh(const Tensor& self) { return acosh(self); }
inline Tensor arctanh(const Tensor& self) { return atanh(self); }
inline Tensor fix(const Tensor& self) { return trunc(self); }
inline Tensor multiply(const Tensor& self, const Scalar& other) { return mul(self, other); }
inline Tensor divide(const Tensor& self, const Scalar& other) { return div(self, other); }
inline Tensor divide(const Tensor& self, const Tensor& other, optional<std::string_view> rounding_mode) {
  return div(self, other, rounding_mode);
}
inline Tensor divide(const Tensor& self, const Scalar& other, optional<std::string_view> rounding_mode) {
  return div(self, other, rounding_mode);
}
inline Tensor true_divide(const Tensor& self, const Scalar& other) { return div(self, other); }
inline Tensor greater(const Tensor& self, const Tensor& other) { return gt(self, other); }
inline Tensor greater(const Tensor& self, const Scalar& other) { return gt(self, other); }
inline Tensor greater_equal(const Tensor& self, const Tensor& other) { return ge(self, other); }
inline Tensor greater_equal(const Tensor& self, const Scalar& other) { return ge(self, other); }
inline Tensor less(const Tensor& self, const Tensor& other) { return lt(self, other); }
inline Tensor less(const Tensor& self, const Scalar& other) { return lt(self, other); }
inline Tensor less_equal(const Tensor& self, const Tensor& other) { return le(self, other); }
inline Tensor less_equal(const Tensor& self, const Scalar& other) { return le(self, other); }
inline Tensor not_equal(const Tensor& self, const Tensor& other) { return ne(self, other); }
inline Tensor not_equal(const Tensor& self, const Scalar& other) { return ne(self, other); }
inline Tensor arctan2(const Tensor& self, const Tensor& other) { return atan2(self, other); }
inline Tensor subtract(const Tensor& self, const Scalar& other, const Scalar& alpha = 1) {
  return sub(self, other, alpha);
}
inline Tensor clip(const Tensor& self, const Tensor& min = {}, const Tensor& max = {}) { return clamp(self, min, max); }
inline Tensor positive(const Tensor& self) { return self; }
inline Tensor concat(TensorList tensors, int64_t dim = 0) { return cat(tensors, dim); }
inline Tensor row_stack(TensorList tensors) { return vstack(tensors); }
inline Tensor swapdims(const Tensor& self, int64_t dim0, int64_t dim1) { return transpose(self, dim0, dim1); }
inline Tensor moveaxis(const Tensor& self, IntArrayRef source, IntArrayRef destination) {
  return movedim(self, source, destination);
}
inline Tensor moveaxis(const Tensor& self, int64_t source, int64_t destination) {
  return movedim(self, source, destination);
}
inline Tensor broadcast_to(const Tensor& self, IntArrayRef size) { return expand(self, size); }

}  // namespace tandem
