// Functions of ATen that Tandem has as members of Tensor only, and ATen's own at::tensor.
#pragma once
#include <complex>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "tandem/tandem.h"
#include "torch/detail/macros.h"

namespace torch {

// clang-format off
#define TANDEM_COMPAT_IN_PLACE(_) \
  _(abs_) _(acos_) _(acosh_) _(arccos_) _(arccosh_) _(arcsin_) _(arcsinh_) _(arctan_) _(arctanh_) _(asin_) _(asinh_) \
  _(atan_) _(atanh_) _(ceil_) _(cos_) _(cosh_) _(deg2rad_) _(erf_) _(erfc_) _(exp2_) _(exp_) _(expm1_) _(fix_) \
  _(floor_) _(frac_) _(i0_) _(log10_) _(log1p_) _(log2_) _(log_) _(neg_) _(negative_) _(rad2deg_) _(reciprocal_) \
  _(round_) _(rsqrt_) _(sigmoid_) _(sin_) _(sinc_) _(sinh_) _(sqrt_) _(square_) _(tan_) _(tanh_) _(trunc_) _(zero_) \
  _(detach_)
// clang-format on
#define TANDEM_COMPAT_FUNCTION(name) \
  inline tandem::Tensor& name(tandem::Tensor& self) { return self.name(); }
TANDEM_COMPAT_IN_PLACE(TANDEM_COMPAT_FUNCTION)
#undef TANDEM_COMPAT_FUNCTION
#undef TANDEM_COMPAT_IN_PLACE
inline tandem::Tensor& round_(tandem::Tensor& self, int64_t decimals) { return self.round_(decimals); }
inline tandem::Tensor& fill_(tandem::Tensor& self, const tandem::Scalar& value) { return self.fill_(value); }
inline tandem::Tensor& fill_(tandem::Tensor& self, const tandem::Tensor& value) { return self.fill_(value); }
#define TANDEM_COMPAT_CLAMP(name)                                                                                     \
  inline tandem::Tensor& name(tandem::Tensor& self, const std::optional<tandem::Scalar>& min,                         \
                              const std::optional<tandem::Scalar>& max = std::nullopt) {                              \
    return self.clamp_(min, max);                                                                                     \
  }                                                                                                                   \
  inline tandem::Tensor& name(tandem::Tensor& self, const tandem::Tensor& min = {}, const tandem::Tensor& max = {}) { \
    return self.clamp_(min, max);                                                                                     \
  }
TANDEM_COMPAT_CLAMP(clamp_)
TANDEM_COMPAT_CLAMP(clip_)
#undef TANDEM_COMPAT_CLAMP
inline tandem::Tensor& clamp_min_(tandem::Tensor& self, const tandem::Scalar& min) { return self.clamp_min_(min); }
inline tandem::Tensor& clamp_min_(tandem::Tensor& self, const tandem::Tensor& min) { return self.clamp_min_(min); }
inline tandem::Tensor& clamp_max_(tandem::Tensor& self, const tandem::Scalar& max) { return self.clamp_max_(max); }
inline tandem::Tensor& clamp_max_(tandem::Tensor& self, const tandem::Tensor& max) { return self.clamp_max_(max); }
inline tandem::Tensor& addmv_(tandem::Tensor& self, const tandem::Tensor& mat, const tandem::Tensor& vec,
                              const tandem::Scalar& beta = 1, const tandem::Scalar& alpha = 1) {
  return self.addmv_(mat, vec, beta, alpha);
}
inline tandem::Tensor& xlogy_(tandem::Tensor& self, const tandem::Tensor& other) { return self.xlogy_(other); }
inline tandem::Tensor& xlogy_(tandem::Tensor& self, const tandem::Scalar& other) { return self.xlogy_(other); }
inline tandem::Tensor& logit_(tandem::Tensor& self, std::optional<double> eps = std::nullopt) {
  return self.logit_(eps);
}
inline tandem::Tensor& nan_to_num_(tandem::Tensor& self, std::optional<double> nan = std::nullopt,
                                   std::optional<double> posinf = std::nullopt,
                                   std::optional<double> neginf = std::nullopt) {
  return self.nan_to_num_(nan, posinf, neginf);
}
inline const tandem::Tensor& resize_as_(const tandem::Tensor& self, const tandem::Tensor& like,
                                        std::optional<tandem::MemoryFormat> format = std::nullopt) {
  return self.resize_as_(like, format);
}
inline tandem::Tensor& index_put_(tandem::Tensor& self, tandem::ArrayRef<tandem::Tensor> indices,
                                  const tandem::Tensor& values, bool accumulate = false) {
  return self.index_put_(indices, values, accumulate);
}
// New tensors in the shape and dtype of self.
inline tandem::Tensor normal_functional(const tandem::Tensor& self, double mean = 0, double std = 1,
                                        const std::optional<tandem::Generator>& generator = std::nullopt) {
  return tandem::empty_like(self).normal_(mean, std, generator);
}
inline tandem::Tensor bernoulli(const tandem::Tensor& self, const tandem::Tensor& p,
                                const std::optional<tandem::Generator>& generator = std::nullopt) {
  return tandem::empty_like(self).bernoulli_(p, generator);
}
/// Copies of what the storage holds, in the dtype of self.
inline tandem::Tensor set(const tandem::Tensor& self, const tandem::Storage& source) {
  return tandem::set(self).set_(source).clone();
}
inline tandem::Tensor set(const tandem::Tensor& self, const tandem::Storage& source, int64_t storage_offset,
                          tandem::IntArrayRef size, tandem::IntArrayRef stride = {}) {
  return tandem::set(self).set_(source, storage_offset, size, stride).clone();
}

inline tandem::Tensor _reshape_alias(const tandem::Tensor& self, tandem::IntArrayRef size, tandem::IntArrayRef stride) {
  return tandem::as_strided(self, size, stride);
}
#define TANDEM_COMPAT_CAST(T, Name)                                                           \
  inline tandem::Tensor _cast_##Name(const tandem::Tensor& self, bool non_blocking = false) { \
    return self.to(tandem::k##Name, non_blocking);                                            \
  }
AT_FORALL_SCALAR_TYPES(TANDEM_COMPAT_CAST)
TANDEM_COMPAT_CAST(tandem::Half, Half)
#undef TANDEM_COMPAT_CAST

inline int64_t numel(const tandem::Tensor& self) { return self.numel(); }
inline int64_t size(const tandem::Tensor& self, int64_t dim) { return self.size(dim); }
inline int64_t stride(const tandem::Tensor& self, int64_t dim) { return self.stride(dim); }
inline int64_t get_device(const tandem::Tensor& self) { return self.get_device(); }
inline bool is_floating_point(const tandem::Tensor& self) { return self.is_floating_point(); }
inline bool is_signed(const tandem::Tensor& self) { return self.is_signed(); }
inline bool is_inference(const tandem::Tensor& self) { return self.is_inference(); }
inline bool is_conj(const tandem::Tensor& self) { return self.is_conj(); }
inline bool is_neg(const tandem::Tensor& self) { return self.is_neg(); }

}  // namespace torch

// at::tensor, unlike torch::tensor: always of one dimension, in the dtype of the values.
namespace tandem::compat {
/// Throws NotImplementedError for complex values in a real dtype.
template <class T>
Tensor values_tensor(ArrayRef<T> values, const TensorOptions& options) {
  if (is_complex(scalar_type_of<T>) && !is_complex(options.dtype()))
    throw NotImplementedError(concat("\"tensor_cpu\" not implemented for '", toString(options.dtype()), "'"));
  return tensor(values, options);
}
}  // namespace tandem::compat
namespace at {
#define TANDEM_COMPAT_TENSOR(T, Name)                                                                   \
  inline tandem::Tensor tensor(tandem::ArrayRef<T> values, const tandem::TensorOptions& options) {      \
    return tandem::compat::values_tensor(values, options);                                              \
  }                                                                                                     \
  inline tandem::Tensor tensor(std::initializer_list<T> values, const tandem::TensorOptions& options) { \
    return tandem::compat::values_tensor(tandem::ArrayRef<T>(values.begin(), values.size()), options);  \
  }                                                                                                     \
  inline tandem::Tensor tensor(T value, const tandem::TensorOptions& options) {                         \
    return tandem::compat::values_tensor(tandem::ArrayRef<T>(&value, 1), options);                      \
  }                                                                                                     \
  inline tandem::Tensor tensor(tandem::ArrayRef<T> values) {                                            \
    return tandem::compat::values_tensor(values, tandem::scalar_type_of<T>);                            \
  }                                                                                                     \
  inline tandem::Tensor tensor(std::initializer_list<T> values) {                                       \
    return tandem::compat::values_tensor(tandem::ArrayRef<T>(values.begin(), values.size()),            \
                                         tandem::scalar_type_of<T>);                                    \
  }                                                                                                     \
  inline tandem::Tensor tensor(T value) {                                                               \
    return tandem::compat::values_tensor(tandem::ArrayRef<T>(&value, 1), tandem::scalar_type_of<T>);    \
  }
AT_FORALL_SCALAR_TYPES(TANDEM_COMPAT_TENSOR)
TANDEM_COMPAT_TENSOR(bool, Bool)
TANDEM_COMPAT_TENSOR(tandem::Half, Half)
TANDEM_COMPAT_TENSOR(tandem::BFloat16, BFloat16)
TANDEM_COMPAT_TENSOR(std::complex<float>, ComplexFloat)
TANDEM_COMPAT_TENSOR(std::complex<double>, ComplexDouble)
#undef TANDEM_COMPAT_TENSOR
}  // namespace at
