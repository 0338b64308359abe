// Functions of ATen that Tandem has as members of Tensor only, and ATen's own at::tensor.
#pragma once
#include <complex>
#include <initializer_list>
#include <optional>
#include <string_view>

#include "tandem/tandem.h"

namespace torch {

inline tandem::Tensor& abs_(tandem::Tensor& self) { return self.abs_(); }
inline tandem::Tensor& acos_(tandem::Tensor& self) { return self.acos_(); }
inline tandem::Tensor& acosh_(tandem::Tensor& self) { return self.acosh_(); }
inline tandem::Tensor& arccos_(tandem::Tensor& self) { return self.arccos_(); }
inline tandem::Tensor& arccosh_(tandem::Tensor& self) { return self.arccosh_(); }
inline tandem::Tensor& arcsin_(tandem::Tensor& self) { return self.arcsin_(); }
inline tandem::Tensor& arcsinh_(tandem::Tensor& self) { return self.arcsinh_(); }
inline tandem::Tensor& arctan_(tandem::Tensor& self) { return self.arctan_(); }
inline tandem::Tensor& arctanh_(tandem::Tensor& self) { return self.arctanh_(); }
inline tandem::Tensor& asin_(tandem::Tensor& self) { return self.asin_(); }
inline tandem::Tensor& asinh_(tandem::Tensor& self) { return self.asinh_(); }
inline tandem::Tensor& atan_(tandem::Tensor& self) { return self.atan_(); }
inline tandem::Tensor& atanh_(tandem::Tensor& self) { return self.atanh_(); }
inline tandem::Tensor& ceil_(tandem::Tensor& self) { return self.ceil_(); }
inline tandem::Tensor& cos_(tandem::Tensor& self) { return self.cos_(); }
inline tandem::Tensor& cosh_(tandem::Tensor& self) { return self.cosh_(); }
inline tandem::Tensor& deg2rad_(tandem::Tensor& self) { return self.deg2rad_(); }
inline tandem::Tensor& erf_(tandem::Tensor& self) { return self.erf_(); }
inline tandem::Tensor& erfc_(tandem::Tensor& self) { return self.erfc_(); }
inline tandem::Tensor& exp2_(tandem::Tensor& self) { return self.exp2_(); }
inline tandem::Tensor& exp_(tandem::Tensor& self) { return self.exp_(); }
inline tandem::Tensor& expm1_(tandem::Tensor& self) { return self.expm1_(); }
inline tandem::Tensor& fix_(tandem::Tensor& self) { return self.fix_(); }
inline tandem::Tensor& floor_(tandem::Tensor& self) { return self.floor_(); }
inline tandem::Tensor& frac_(tandem::Tensor& self) { return self.frac_(); }
inline tandem::Tensor& i0_(tandem::Tensor& self) { return self.i0_(); }
inline tandem::Tensor& log10_(tandem::Tensor& self) { return self.log10_(); }
inline tandem::Tensor& log1p_(tandem::Tensor& self) { return self.log1p_(); }
inline tandem::Tensor& log2_(tandem::Tensor& self) { return self.log2_(); }
inline tandem::Tensor& log_(tandem::Tensor& self) { return self.log_(); }
inline tandem::Tensor& neg_(tandem::Tensor& self) { return self.neg_(); }
inline tandem::Tensor& negative_(tandem::Tensor& self) { return self.negative_(); }
inline tandem::Tensor& rad2deg_(tandem::Tensor& self) { return self.rad2deg_(); }
inline tandem::Tensor& reciprocal_(tandem::Tensor& self) { return self.reciprocal_(); }
inline tandem::Tensor& round_(tandem::Tensor& self) { return self.round_(); }
inline tandem::Tensor& rsqrt_(tandem::Tensor& self) { return self.rsqrt_(); }
inline tandem::Tensor& sigmoid_(tandem::Tensor& self) { return self.sigmoid_(); }
inline tandem::Tensor& sin_(tandem::Tensor& self) { return self.sin_(); }
inline tandem::Tensor& sinc_(tandem::Tensor& self) { return self.sinc_(); }
inline tandem::Tensor& sinh_(tandem::Tensor& self) { return self.sinh_(); }
inline tandem::Tensor& sqrt_(tandem::Tensor& self) { return self.sqrt_(); }
inline tandem::Tensor& square_(tandem::Tensor& self) { return self.square_(); }
inline tandem::Tensor& tan_(tandem::Tensor& self) { return self.tan_(); }
inline tandem::Tensor& tanh_(tandem::Tensor& self) { return self.tanh_(); }
inline tandem::Tensor& trunc_(tandem::Tensor& self) { return self.trunc_(); }
inline tandem::Tensor& zero_(tandem::Tensor& self) { return self.zero_(); }
inline tandem::Tensor& detach_(tandem::Tensor& self) { return self.detach_(); }
inline tandem::Tensor& round_(tandem::Tensor& self, int64_t decimals) { return self.round_(decimals); }
inline tandem::Tensor& fill_(tandem::Tensor& self, const tandem::Scalar& value) { return self.fill_(value); }
inline tandem::Tensor& fill_(tandem::Tensor& self, const tandem::Tensor& value) { return self.fill_(value); }
inline tandem::Tensor& clamp_(tandem::Tensor& self, const std::optional<tandem::Scalar>& min,
                              const std::optional<tandem::Scalar>& max = std::nullopt) {
  return self.clamp_(min, max);
}
inline tandem::Tensor& clip_(tandem::Tensor& self, const std::optional<tandem::Scalar>& min,
                             const std::optional<tandem::Scalar>& max = std::nullopt) {
  return self.clamp_(min, max);
}
inline tandem::Tensor& clamp_(tandem::Tensor& self, const tandem::Tensor& min = {}, const tandem::Tensor& max = {}) {
  return self.clamp_(min, max);
}
inline tandem::Tensor& clip_(tandem::Tensor& self, const tandem::Tensor& min = {}, const tandem::Tensor& max = {}) {
  return self.clamp_(min, max);
}
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
inline tandem::Tensor _cast_Byte(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kByte, non_blocking);
}
inline tandem::Tensor _cast_Char(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kChar, non_blocking);
}
inline tandem::Tensor _cast_Double(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kDouble, non_blocking);
}
inline tandem::Tensor _cast_Float(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kFloat, non_blocking);
}
inline tandem::Tensor _cast_Int(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kInt, non_blocking);
}
inline tandem::Tensor _cast_Long(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kLong, non_blocking);
}
inline tandem::Tensor _cast_Short(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kShort, non_blocking);
}
inline tandem::Tensor _cast_Half(const tandem::Tensor& self, bool non_blocking = false) {
  return self.to(tandem::kHalf, non_blocking);
}

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
#define TANDEM_COMPAT_TENSOR(T)                                                                         \
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
TANDEM_COMPAT_TENSOR(uint8_t)
TANDEM_COMPAT_TENSOR(int8_t)
TANDEM_COMPAT_TENSOR(int16_t)
TANDEM_COMPAT_TENSOR(int)
TANDEM_COMPAT_TENSOR(int64_t)
TANDEM_COMPAT_TENSOR(float)
TANDEM_COMPAT_TENSOR(double)
TANDEM_COMPAT_TENSOR(bool)
TANDEM_COMPAT_TENSOR(tandem::Half)
TANDEM_COMPAT_TENSOR(tandem::BFloat16)
TANDEM_COMPAT_TENSOR(std::complex<float>)
TANDEM_COMPAT_TENSOR(std::complex<double>)
#undef TANDEM_COMPAT_TENSOR
}  // namespace at
