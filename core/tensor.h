// Tensor: a handle to a strided n-dimensional array (LibTorch's torch::Tensor).
//
// Copying a Tensor copies the handle, not the elements. Methods that compute forward to the free function of
// the same name; autograd/ops/ documents those functions. A trailing _ marks an in-place operation; it is const,
// because it changes the elements and not to which tensor the handle refers.
#pragma once
#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "tandem/core/accessor.h"
#include "tandem/core/options.h"
#include "tandem/core/print.h"
#include "tandem/core/random/generator.h"
#include "tandem/core/scalar.h"
#include "tandem/core/symint.h"
#include "tandem/core/tensor_impl.h"

namespace tandem {

class Tensor;
namespace detail {
/// What an in-place operation on `t` returns.
inline Tensor& mutable_handle(const Tensor& t) { return const_cast<Tensor&>(t); }
}  // namespace detail

using TensorList = ArrayRef<Tensor>;
/// The dimensions of a reduction when they may be missing, which means all. Only these types match, so that a
/// number or a list in braces is an IntArrayRef.
template <class T>
concept OptionalDims = std::derived_from<T, optional<IntArrayRef>> || std::same_as<T, nullopt_t>;
namespace autograd {
class Node;
}
namespace indexing {
class TensorIndex;
}
class DeprecatedTypeProperties;
class Stream;

class Tensor {
 public:
  Tensor() = default;
  // LibTorch's parameters that may be missing are optional; a missing tensor here is undefined.
  Tensor(nullopt_t) {}
  template <class Optional>
  requires(std::is_same_v<Optional, optional<Tensor>>) Tensor(const Optional& tensor)
      : impl_(tensor.has_value() ? tensor->impl_ : nullptr) {}
  explicit Tensor(IntrusivePtr<TensorImpl> impl) : impl_(std::move(impl)) {}
  Tensor(const Tensor&) = default;
  Tensor(Tensor&&) noexcept = default;
  Tensor& operator=(const Tensor&) & = default;
  Tensor& operator=(Tensor&&) & noexcept = default;
  /// `x[0] = value`: assigning to a temporary writes its elements (copy_, fill_).
  Tensor& operator=(const Tensor& value) && { return copy_(value); }
  Tensor& operator=(Tensor&& value) && { return copy_(value); }
  Tensor& operator=(const Scalar& value) && { return fill_(value); }

  // ---- metadata
  bool defined() const { return impl_.get() != nullptr; }
  explicit operator bool() const = delete;  // ambiguous: use defined() or item<bool>()
  bool is_same(const Tensor& other) const { return impl_ == other.impl_; }
  void reset() { impl_.reset(); }
  TensorImpl* impl() const { return impl_.get(); }
  TensorImpl* unsafeGetTensorImpl() const { return impl_.get(); }
  int64_t use_count() const { return defined() ? impl_->use_count() : 0; }

  int64_t dim() const { return static_cast<int64_t>(get().sizes.size()); }
  int64_t ndimension() const { return dim(); }
  int64_t numel() const { return get().numel; }
  IntArrayRef sizes() const { return get().sizes; }
  IntArrayRef strides() const { return get().strides; }
  int64_t size(int64_t d) const { return get().sizes[static_cast<std::size_t>(wrap(d))]; }
  int64_t stride(int64_t d) const { return get().strides[static_cast<std::size_t>(wrap(d))]; }
  int64_t storage_offset() const { return get().offset; }
  // The same as LibTorch's compilers ask for them.
  SymInt sym_numel() const { return numel(); }
  SymIntArrayRef sym_sizes() const { return sizes(); }
  SymIntArrayRef sym_strides() const { return strides(); }
  SymInt sym_size(int64_t d) const { return size(d); }
  SymInt sym_stride(int64_t d) const { return stride(d); }
  SymInt sym_storage_offset() const { return storage_offset(); }
  const Storage& storage() const { return get().storage; }
  bool is_contiguous() const { return get().contiguous; }
  /// Whether the elements lie in this order (Preserve: row-major).
  bool is_contiguous(MemoryFormat format) const;
  /// The order of a channels-last tensor of 4 or 5 dimensions (3d: of 5), otherwise row-major.
  MemoryFormat suggest_memory_format(bool channels_last_strides_exact_match = false) const;
  /// Whether both have the same storage; is_set_to: also the same geometry.
  bool is_alias_of(const Tensor& other) const { return get().storage == other.get().storage; }
  bool is_set_to(const Tensor& other) const;
  /// True when the elements fill their memory without gaps and no two indices share one: some permutation of
  /// the dimensions is contiguous.
  bool is_non_overlapping_and_dense() const;
  TypeMeta dtype() const { return TypeMeta(get().dtype); }
  ScalarType scalar_type() const { return get().dtype; }
  Device device() const { return get().device(); }
  /// The index of the GPU, or -1 on CPU.
  DeviceIndex get_device() const { return is_cpu() ? DeviceIndex{-1} : device().index(); }
  bool is_cpu() const { return device().is_cpu(); }
  bool is_cuda() const { return device().is_cuda(); }
  bool is_pinned() const { return get().storage->pinned(); }
  bool is_pinned(optional<Device>) const { return is_pinned(); }
  bool is_complex() const { return tandem::is_complex(dtype()); }
  Layout layout() const { return kStrided; }
  bool has_storage() const { return defined(); }
  // Kinds of tensors that do not exist here.
  bool is_sparse() const { return false; }
  bool is_sparse_csr() const { return false; }
  bool is_quantized() const { return false; }
  bool is_nested() const { return false; }
  bool is_mkldnn() const { return false; }
  bool is_meta() const { return false; }
  bool is_mps() const { return false; }
  bool is_xla() const { return false; }
  bool is_hip() const { return false; }
  bool is_xpu() const { return false; }
  bool is_vulkan() const { return false; }
  bool is_conj() const { return false; }
  bool is_neg() const { return false; }
  bool is_signed() const { return dtype() != kBool && dtype() != kByte; }
  bool is_same_size(const Tensor& other) const { return sizes() == other.sizes(); }
  /// True when the only element is not 0. Throws Error unless there is exactly one element.
  bool is_nonzero() const { return item().toBool(); }
  bool is_floating_point() const { return tandem::is_floating_point(dtype()); }
  int64_t element_size() const { return item_size(dtype()); }
  int64_t itemsize() const { return element_size(); }
  std::size_t nbytes() const { return static_cast<std::size_t>(numel() * element_size()); }
  TensorOptions options() const { return TensorOptions(dtype()).device(optional<Device>(device())).layout(kStrided); }
  /// Tensors have no names: "".
  const std::string& name() const;
  /// The dtype and device as LibTorch's old interface describes them; type(dtype) is to(dtype).
  DeprecatedTypeProperties type() const;  ///< in core/deprecated_type.h
  Tensor type(ScalarType dtype) const { return to(dtype); }
  /// For messages: "[2, 3] float32 cpu".
  std::string describe() const;
  std::string toString() const;  ///< LibTorch's name: "CPUFloatType"

  /// Pointer to the first element. Throws Error when the tensor's dtype is not T.
  template <class T>
  T* data_ptr() const {
    if (scalar_type_of<std::remove_const_t<T>> != dtype()) [[unlikely]]
      wrong_type(scalar_type_of<std::remove_const_t<T>>);
    return static_cast<T*>(impl_->data);
  }
  void* data_ptr() const { return get().data; }
  const void* const_data_ptr() const { return get().data; }
  void* mutable_data_ptr() const { return get().data; }
  template <class T>
  const T* const_data_ptr() const {
    return data_ptr<T>();
  }
  template <class T>
  T* mutable_data_ptr() const {
    return data_ptr<T>();
  }
  /// Unchecked; for kernels, after dispatch.
  template <class T>
  T* ptr() const {
    return static_cast<T*>(impl_->data);
  }
  /// N-dimensional element access on the CPU. Throws Error when the dtype, rank or device does not match.
  template <class T, std::size_t N>
  TensorAccessor<T, N> accessor() const {
    check_accessor(N);
    return {data_ptr<T>(), impl_->sizes.data(), impl_->strides.data()};
  }
  /// The same as an object that can be copied to a kernel. Throws Error when the rank or dtype does not match, and for
  /// 32 bits when there are more elements than these can count.
  template <class T, std::size_t N>
  PackedTensorAccessor64<T, N> packed_accessor64() const {
    check_packed(N, false);
    return {data_ptr<T>(), impl_->sizes.data(), impl_->strides.data()};
  }
  template <class T, std::size_t N>
  PackedTensorAccessor32<T, N> packed_accessor32() const {
    check_packed(N, true);
    return {data_ptr<T>(), impl_->sizes.data(), impl_->strides.data()};
  }
  template <class T, std::size_t N>
  PackedTensorAccessor64<T, N> packed_accessor() const {
    return packed_accessor64<T, N>();
  }
  /// The value of a one-element tensor, copied to the host. Throws Error unless there is exactly one element.
  Scalar item() const;
  template <class T>
  T item() const {
    return item().to<T>();
  }
  void print() const;

  // ---- autograd (autograd/variable.cpp)
  bool requires_grad() const { return get().requires_grad(); }
  /// Throws Error unless this is a floating point leaf or the flag does not change. A view that becomes a
  /// leaf requiring a gradient stops being a view: later writes to its base are not recorded for it.
  const Tensor& requires_grad_(bool value = true) const;
  const Tensor& set_requires_grad(bool value) const { return requires_grad_(value); }
  bool is_leaf() const;
  /// The gradient; undefined before the first backward. Write it through mutable_grad.
  const Tensor& grad() const;
  Tensor& mutable_grad() const;
  IntrusivePtr<autograd::Node> grad_fn() const;
  uint32_t output_nr() const;
  /// Accumulates d(this)/d(leaf) into leaf.grad() for every leaf. `gradient` is required unless this tensor
  /// has exactly one element. When `inputs` is given, only those leaves accumulate. `create_graph` makes the
  /// gradients differentiable.
  void backward(const Tensor& gradient = {}, optional<bool> retain_graph = nullopt, bool create_graph = false,
                optional<TensorList> inputs = nullopt) const;
  Tensor detach() const;
  Tensor& detach_() const;
  /// A detached alias (LibTorch's .data()). Writes through it do not bump the version counter, so backward does
  /// not notice when they overwrite values it needs. After such a write through detach(), backward throws.
  Tensor data() const;
  template <class T>
  T* data() const {
    return data_ptr<T>();
  }
  Tensor tensor_data() const { return detach(); }
  Tensor variable_data() const { return data(); }
  /// Makes this tensor share `other`'s storage, and take its shape, strides and dtype.
  void set_data(const Tensor& other) const;
  void retain_grad() const;
  bool retains_grad() const;
  /// Calls `hook(grad)` when the gradient of this tensor is computed. A defined return value replaces the
  /// gradient. Returns a handle for remove_hook.
  template <class Hook>
  unsigned register_hook(Hook hook) const;
  void remove_hook(unsigned handle) const;
  /// Calls `hook(leaf)` after a gradient has been accumulated into this leaf.
  template <class Hook>
  unsigned register_post_accumulate_grad_hook(Hook hook) const;
  bool is_view() const;
  Tensor _base() const;
  uint32_t _version() const { return get().versions().version(); }
  bool is_inference() const { return get().inference; }

  // ---- conversion (autograd/ops/view/copy.cpp)
  // Without a format, or with Preserve, a channels-last tensor stays so; any other result in new memory is row-major.
  Tensor to(ScalarType dtype, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> format = nullopt) const;
  Tensor to(TypeMeta dtype, bool non_blocking = false, bool copy = false) const {
    return to(dtype.toScalarType(), non_blocking, copy);
  }
  // A template, so that to({kCUDA, 1}) takes a TensorOptions only.
  template <std::same_as<Device> D>
  Tensor to(D device, bool non_blocking = false, bool copy = false) const {
    return to(device, scalar_type(), non_blocking, copy);
  }
  Tensor to(Device device, ScalarType dtype, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> format = nullopt) const;
  Tensor to(const TensorOptions& options = {}, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> format = nullopt) const;
  Tensor to(const Tensor& like, bool non_blocking = false, bool copy = false,
            optional<MemoryFormat> format = nullopt) const;
  /// As complex32, which is stored, converted and viewed, but not computed with.
  Tensor chalf(optional<MemoryFormat> format = nullopt) const { return to(kComplexHalf, false, false, format); }
  Tensor to(DeviceType type, bool non_blocking = false, bool copy = false) const {
    return to(Device(type), non_blocking, copy);
  }
  /// contiguous(format), or with Preserve the tensor itself.
  Tensor to(MemoryFormat format) const;
  /// "cuda:0"
  template <class Text>
  requires(std::is_convertible_v<const Text&, std::string_view>) Tensor
      to(const Text& device, bool non_blocking = false, bool copy = false)
  const { return to(Device(std::string(device)), non_blocking, copy); }
  /// What is not given stays as it is; `layout` and `pin_memory` are not read.
  Tensor to(optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device, optional<bool> pin_memory,
            bool non_blocking, bool copy, optional<MemoryFormat> format) const;
  Tensor cpu() const { return to(Device(kCPU)); }
  /// To the device type of a torch::Backend (compat/torch/detail/aten.h).
  template <class Backend>
  Tensor toBackend(Backend backend) const {
    return to(backendToDeviceType(backend));
  }
  Tensor cuda() const { return to(Device(kCUDA)); }
  Tensor toType(ScalarType dtype) const { return to(dtype); }
  Tensor type_as(const Tensor& other) const { return to(other); }
  Tensor pin_memory() const;
  Tensor pin_memory(optional<Device>) const { return pin_memory(); }
  /// Keeps the memory, when it is freed, until the work that is on `stream` has finished.
  void record_stream(const Stream& stream) const;
  Tensor clone(optional<MemoryFormat> format = nullopt) const;
  Tensor contiguous(MemoryFormat format = MemoryFormat::Contiguous) const;
  Tensor& copy_(const Tensor& source, bool non_blocking = false) const;

  // The methods below forward to the operations in the autograd/ops/ header that the section names. They are
  // declared here rather than in those headers because a class has a single definition.

  // ---- unary.h
  Tensor neg() const;
  Tensor& neg_() const;
  Tensor abs() const;
  Tensor& abs_() const;
  Tensor sign() const;
  Tensor& sign_() const;
  Tensor exp() const;
  Tensor& exp_() const;
  Tensor exp2() const;
  Tensor& exp2_() const;
  Tensor expm1() const;
  Tensor& expm1_() const;
  Tensor log() const;
  Tensor& log_() const;
  Tensor log2() const;
  Tensor& log2_() const;
  Tensor log10() const;
  Tensor& log10_() const;
  Tensor log1p() const;
  Tensor& log1p_() const;
  Tensor sqrt() const;
  Tensor& sqrt_() const;
  Tensor rsqrt() const;
  Tensor& rsqrt_() const;
  Tensor square() const;
  Tensor& square_() const;
  Tensor reciprocal() const;
  Tensor& reciprocal_() const;
  Tensor sin() const;
  Tensor& sin_() const;
  Tensor cos() const;
  Tensor& cos_() const;
  Tensor tan() const;
  Tensor& tan_() const;
  Tensor asin() const;
  Tensor& asin_() const;
  Tensor acos() const;
  Tensor& acos_() const;
  Tensor atan() const;
  Tensor& atan_() const;
  Tensor sinh() const;
  Tensor& sinh_() const;
  Tensor cosh() const;
  Tensor& cosh_() const;
  Tensor tanh() const;
  Tensor& tanh_() const;
  Tensor sigmoid() const;
  Tensor& sigmoid_() const;
  Tensor relu() const;
  Tensor& relu_() const;
  Tensor floor() const;
  Tensor& floor_() const;
  Tensor ceil() const;
  Tensor& ceil_() const;
  Tensor round() const;
  Tensor& round_() const;
  Tensor round(int64_t decimals) const;
  Tensor& round_(int64_t decimals) const;
  Tensor trunc() const;
  Tensor& trunc_() const;
  Tensor frac() const;
  Tensor& frac_() const;
  Tensor erf() const;
  Tensor& erf_() const;
  Tensor erfc() const;
  Tensor& erfc_() const;
  Tensor asinh() const;
  Tensor& asinh_() const;
  Tensor acosh() const;
  Tensor& acosh_() const;
  Tensor atanh() const;
  Tensor& atanh_() const;
  Tensor logical_not() const;
  Tensor& logical_not_() const;
  Tensor bitwise_not() const;
  Tensor& bitwise_not_() const;
  Tensor operator-() const { return neg(); }
  Tensor operator~() const { return bitwise_not(); }
  Tensor operator!() const { return logical_not(); }
  Tensor clamp(const optional<Scalar>& min = nullopt, const optional<Scalar>& max = nullopt) const;
  Tensor& clamp_(const optional<Scalar>& min = nullopt, const optional<Scalar>& max = nullopt) const;
  Tensor clamp(const Tensor& min, const Tensor& max = {}) const;
  Tensor& clamp_(const Tensor& min, const Tensor& max = {}) const;
  Tensor clamp_min(const Tensor& min) const;
  Tensor& clamp_min_(const Tensor& min) const;
  Tensor clamp_max(const Tensor& max) const;
  Tensor& clamp_max_(const Tensor& max) const;
  Tensor clamp_min(const Scalar& min) const;
  Tensor& clamp_min_(const Scalar& min) const;
  Tensor clamp_max(const Scalar& max) const;
  Tensor& clamp_max_(const Scalar& max) const;
  Tensor clip(const optional<Scalar>& min = nullopt, const optional<Scalar>& max = nullopt) const {
    return clamp(min, max);
  }
  Tensor isnan() const;
  Tensor isinf() const;
  Tensor isfinite() const;
  Tensor isposinf() const;
  Tensor isneginf() const;
  Tensor signbit() const;
  Tensor deg2rad() const;
  Tensor& deg2rad_() const;
  Tensor rad2deg() const;
  Tensor& rad2deg_() const;
  Tensor logit(optional<double> eps = nullopt) const;
  Tensor& logit_(optional<double> eps = nullopt) const;
  Tensor sinc() const;
  Tensor& sinc_() const;
  Tensor nan_to_num(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                    optional<double> neginf = nullopt) const;
  Tensor& nan_to_num_(optional<double> nan = nullopt, optional<double> posinf = nullopt,
                      optional<double> neginf = nullopt) const;

  // ---- arithmetic.h
  Tensor add(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor add(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& add_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor sub(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor sub(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Tensor& other, const Scalar& alpha = 1) const;
  Tensor& sub_(const Scalar& other, const Scalar& alpha = 1) const;
  Tensor mul(const Tensor& other) const;
  Tensor mul(const Scalar& other) const;
  Tensor& mul_(const Tensor& other) const;
  Tensor& mul_(const Scalar& other) const;
  Tensor div(const Tensor& other) const;
  Tensor div(const Scalar& other) const;
  Tensor& div_(const Tensor& other) const;
  Tensor& div_(const Scalar& other) const;
  Tensor div(const Tensor& other, optional<std::string_view> rounding_mode) const;
  Tensor div(const Scalar& other, optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Tensor& other, optional<std::string_view> rounding_mode) const;
  Tensor& div_(const Scalar& other, optional<std::string_view> rounding_mode) const;
  Tensor pow(const Tensor& other) const;
  Tensor pow(const Scalar& other) const;
  Tensor& pow_(const Tensor& other) const;
  Tensor& pow_(const Scalar& other) const;
  Tensor fmod(const Tensor& other) const;
  Tensor fmod(const Scalar& other) const;
  Tensor& fmod_(const Tensor& other) const;
  Tensor& fmod_(const Scalar& other) const;
  Tensor remainder(const Tensor& other) const;
  Tensor remainder(const Scalar& other) const;
  Tensor& remainder_(const Tensor& other) const;
  Tensor& remainder_(const Scalar& other) const;
  Tensor floor_divide(const Tensor& other) const;
  Tensor floor_divide(const Scalar& other) const;
  Tensor& floor_divide_(const Tensor& other) const;
  Tensor& floor_divide_(const Scalar& other) const;
  Tensor maximum(const Tensor& other) const;
  Tensor minimum(const Tensor& other) const;
  Tensor atan2(const Tensor& other) const;
  Tensor& atan2_(const Tensor& other) const;
  Tensor hypot(const Tensor& other) const;
  Tensor& hypot_(const Tensor& other) const;
  Tensor fmax(const Tensor& other) const;
  Tensor fmin(const Tensor& other) const;
  Tensor copysign(const Tensor& other) const;
  Tensor copysign(const Scalar& other) const;
  Tensor& copysign_(const Tensor& other) const;
  Tensor& copysign_(const Scalar& other) const;
  Tensor xlogy(const Tensor& other) const;
  Tensor xlogy(const Scalar& other) const;
  Tensor& xlogy_(const Tensor& other) const;
  Tensor& xlogy_(const Scalar& other) const;
  Tensor logaddexp(const Tensor& other) const;
  Tensor logaddexp2(const Tensor& other) const;
  Tensor heaviside(const Tensor& values) const;
  Tensor float_power(const Tensor& exponent) const;
  Tensor float_power(const Scalar& exponent) const;
  Tensor addcmul(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor& addcmul_(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor addcdiv(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor& addcdiv_(const Tensor& a, const Tensor& b, const Scalar& value = 1) const;
  Tensor lerp(const Tensor& end, const Scalar& weight) const;
  Tensor& lerp_(const Tensor& end, const Scalar& weight) const;
  Tensor lerp(const Tensor& end, const Tensor& weight) const;
  Tensor& lerp_(const Tensor& end, const Tensor& weight) const;
  Tensor& operator+=(const Tensor& o) const { return add_(o); }
  Tensor& operator-=(const Tensor& o) const { return sub_(o); }
  Tensor& operator*=(const Tensor& o) const { return mul_(o); }
  Tensor& operator/=(const Tensor& o) const { return div_(o); }
  Tensor& operator+=(const Scalar& o) const { return add_(o); }
  Tensor& operator-=(const Scalar& o) const { return sub_(o); }
  Tensor& operator*=(const Scalar& o) const { return mul_(o); }
  Tensor& operator/=(const Scalar& o) const { return div_(o); }

  // ---- comparison.h
  Tensor eq(const Tensor& other) const;
  Tensor eq(const Scalar& other) const;
  Tensor ne(const Tensor& other) const;
  Tensor ne(const Scalar& other) const;
  Tensor lt(const Tensor& other) const;
  Tensor lt(const Scalar& other) const;
  Tensor le(const Tensor& other) const;
  Tensor le(const Scalar& other) const;
  Tensor gt(const Tensor& other) const;
  Tensor gt(const Scalar& other) const;
  Tensor ge(const Tensor& other) const;
  Tensor ge(const Scalar& other) const;
  Tensor logical_and(const Tensor& other) const;
  Tensor logical_or(const Tensor& other) const;
  Tensor logical_xor(const Tensor& other) const;
  Tensor& eq_(const Tensor& other) const;
  Tensor& eq_(const Scalar& other) const;
  Tensor& ne_(const Tensor& other) const;
  Tensor& ne_(const Scalar& other) const;
  Tensor& lt_(const Tensor& other) const;
  Tensor& lt_(const Scalar& other) const;
  Tensor& le_(const Tensor& other) const;
  Tensor& le_(const Scalar& other) const;
  Tensor& gt_(const Tensor& other) const;
  Tensor& gt_(const Scalar& other) const;
  Tensor& ge_(const Tensor& other) const;
  Tensor& ge_(const Scalar& other) const;
  Tensor& logical_and_(const Tensor& other) const;
  Tensor& logical_or_(const Tensor& other) const;
  Tensor& logical_xor_(const Tensor& other) const;
  Tensor bitwise_left_shift(const Tensor& other) const;
  Tensor& bitwise_left_shift_(const Tensor& other) const;
  Tensor bitwise_left_shift(const Scalar& other) const;
  Tensor& bitwise_left_shift_(const Scalar& other) const;
  Tensor bitwise_right_shift(const Tensor& other) const;
  Tensor& bitwise_right_shift_(const Tensor& other) const;
  Tensor bitwise_right_shift(const Scalar& other) const;
  Tensor& bitwise_right_shift_(const Scalar& other) const;
  Tensor bitwise_and(const Tensor& other) const;
  Tensor& bitwise_and_(const Tensor& other) const;
  Tensor& operator&=(const Tensor& o) { return bitwise_and_(o); }
  Tensor bitwise_and(const Scalar& other) const;
  Tensor& bitwise_and_(const Scalar& other) const;
  Tensor& operator&=(const Scalar& o) { return bitwise_and_(o); }
  Tensor bitwise_or(const Tensor& other) const;
  Tensor& bitwise_or_(const Tensor& other) const;
  Tensor& operator|=(const Tensor& o) { return bitwise_or_(o); }
  Tensor bitwise_or(const Scalar& other) const;
  Tensor& bitwise_or_(const Scalar& other) const;
  Tensor& operator|=(const Scalar& o) { return bitwise_or_(o); }
  Tensor bitwise_xor(const Tensor& other) const;
  Tensor& bitwise_xor_(const Tensor& other) const;
  Tensor& operator^=(const Tensor& o) { return bitwise_xor_(o); }
  Tensor bitwise_xor(const Scalar& other) const;
  Tensor& bitwise_xor_(const Scalar& other) const;
  Tensor& operator^=(const Scalar& o) { return bitwise_xor_(o); }
  bool equal(const Tensor& other) const;
  bool allclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;
  Tensor isclose(const Tensor& other, double rtol = 1e-5, double atol = 1e-8, bool equal_nan = false) const;

  // ---- where.h
  Tensor where(const Tensor& condition, const Tensor& other) const;
  Tensor where(const Tensor& condition, const Scalar& other) const;
  Tensor masked_fill(const Tensor& mask, const Scalar& value) const;
  Tensor masked_fill(const Tensor& mask, const Tensor& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Scalar& value) const;
  Tensor& masked_fill_(const Tensor& mask, const Tensor& value) const;
  Tensor masked_select(const Tensor& mask) const;
  Tensor masked_scatter(const Tensor& mask, const Tensor& source) const;
  Tensor& masked_scatter_(const Tensor& mask, const Tensor& source) const;
  Tensor tril(int64_t diagonal = 0) const;
  Tensor& tril_(int64_t diagonal = 0) const;
  Tensor triu(int64_t diagonal = 0) const;
  Tensor& triu_(int64_t diagonal = 0) const;

  // ---- fill.h, random.h
  Tensor& fill_(const Scalar& value) const;
  Tensor& fill_(const Tensor& value) const;
  Tensor& zero_() const;
  Tensor& uniform_(double from = 0, double to = 1, optional<Generator> generator = nullopt) const;
  Tensor& normal_(double mean = 0, double std = 1, optional<Generator> generator = nullopt) const;
  Tensor& bernoulli_(double p = 0.5, optional<Generator> generator = nullopt) const;
  Tensor& bernoulli_(const Tensor& p, optional<Generator> generator = nullopt) const;
  Tensor& random_(int64_t from, int64_t to, optional<Generator> generator = nullopt) const;
  /// Integers in [0, to).
  Tensor& random_(int64_t to, optional<Generator> generator = nullopt) const;
  /// Without `to`, up to the largest of random_().
  Tensor& random_(int64_t from, optional<int64_t> to, optional<Generator> generator = nullopt) const;
  /// Non-negative integers: up to the maximum of an integer dtype, or as far as a floating point dtype
  /// represents integers exactly.
  Tensor& random_(optional<Generator> generator = nullopt) const;
  Tensor bernoulli(optional<Generator> generator = nullopt) const;
  Tensor bernoulli(double p, optional<Generator> generator = nullopt) const;
  Tensor multinomial(int64_t num_samples, bool replacement = false, optional<Generator> generator = nullopt) const;
  Tensor& exponential_(double lambda = 1, optional<Generator> generator = nullopt) const;
  Tensor new_empty(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_zeros(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_ones(IntArrayRef size, const TensorOptions& options = {}) const;
  Tensor new_full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {}) const;
  Tensor new_empty(IntArrayRef size, optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device,
                   optional<bool> pin_memory) const {
    return new_empty(size, options_of(dtype, layout, device, pin_memory));
  }
  Tensor new_zeros(IntArrayRef size, optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device,
                   optional<bool> pin_memory) const {
    return new_zeros(size, options_of(dtype, layout, device, pin_memory));
  }
  Tensor new_ones(IntArrayRef size, optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device,
                  optional<bool> pin_memory) const {
    return new_ones(size, options_of(dtype, layout, device, pin_memory));
  }
  Tensor new_full(IntArrayRef size, const Scalar& value, optional<ScalarType> dtype, optional<Layout> layout,
                  optional<Device> device, optional<bool> pin_memory) const {
    return new_full(size, value, options_of(dtype, layout, device, pin_memory));
  }

  // ---- reduce.h
  Tensor sum(optional<ScalarType> dtype = nullopt) const;
  Tensor sum(IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
  template <OptionalDims Dim>
  Tensor sum(const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return sum(optional<IntArrayRef>(dim).value_or(IntArrayRef()), keepdim, dtype);
  }
  Tensor mean(optional<ScalarType> dtype = nullopt) const;
  Tensor mean(IntArrayRef dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
  template <OptionalDims Dim>
  Tensor mean(const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return mean(optional<IntArrayRef>(dim).value_or(IntArrayRef()), keepdim, dtype);
  }
  Tensor prod(optional<ScalarType> dtype = nullopt) const;
  Tensor prod(int64_t dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
  Tensor max() const;
  Tensor min() const;
  std::tuple<Tensor, Tensor> max(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> min(int64_t dim, bool keepdim = false) const;
  Tensor max(const Tensor& other) const { return maximum(other); }
  Tensor min(const Tensor& other) const { return minimum(other); }
  Tensor amax(IntArrayRef dim = {}, bool keepdim = false) const;
  Tensor amin(IntArrayRef dim = {}, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> aminmax(optional<int64_t> dim = nullopt, bool keepdim = false) const;
  Tensor argmax(optional<int64_t> dim = nullopt, bool keepdim = false) const;
  Tensor argmin(optional<int64_t> dim = nullopt, bool keepdim = false) const;
  // An integer argument is a dimension; a bool is `unbiased`.
  Tensor var(bool unbiased = true) const;
  Tensor var(int dim) const { return var(int64_t{dim}); }
  Tensor var(int64_t dim) const { return var(IntArrayRef(dim)); }
  Tensor var(std::nullopt_t) const { return var(); }
  Tensor var(IntArrayRef dim, bool unbiased = true, bool keepdim = false) const;
  Tensor var(const optional<IntArrayRef>& dim, const optional<Scalar>& correction, bool keepdim = false) const;
  Tensor std(bool unbiased = true) const;
  Tensor std(int dim) const { return std(int64_t{dim}); }
  Tensor std(int64_t dim) const { return std(IntArrayRef(dim)); }
  Tensor std(std::nullopt_t) const { return std(); }
  Tensor std(IntArrayRef dim, bool unbiased = true, bool keepdim = false) const;
  Tensor std(const optional<IntArrayRef>& dim, const optional<Scalar>& correction, bool keepdim = false) const;
  Tensor norm(const Scalar& p = 2) const;
  Tensor norm(const optional<Scalar>& p, ScalarType dtype) const;
  Tensor norm(const optional<Scalar>& p, IntArrayRef dim, bool keepdim = false,
              optional<ScalarType> dtype = nullopt) const;
  Tensor all() const;
  Tensor all(int64_t dim, bool keepdim = false) const;
  Tensor any() const;
  Tensor any(int64_t dim, bool keepdim = false) const;
  Tensor cumsum(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& cumsum_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor cumprod(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor& cumprod_(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor diff(int64_t n = 1, int64_t dim = -1, const Tensor& prepend = {}, const Tensor& append = {}) const;
  Tensor nansum(IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
  template <std::same_as<ScalarType> Type>
  Tensor nansum(Type dtype) const {
    return nansum(IntArrayRef(), false, dtype);
  }
  template <OptionalDims Dim>
  Tensor nansum(const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return nansum(optional<IntArrayRef>(dim).value_or(IntArrayRef()), keepdim, dtype);
  }
  Tensor nanmean(IntArrayRef dim = {}, bool keepdim = false, optional<ScalarType> dtype = nullopt) const;
  template <OptionalDims Dim>
  Tensor nanmean(const Dim& dim, bool keepdim = false, optional<ScalarType> dtype = nullopt) const {
    return nanmean(optional<IntArrayRef>(dim).value_or(IntArrayRef()), keepdim, dtype);
  }
  Tensor all(IntArrayRef dim, bool keepdim = false) const;
  Tensor any(IntArrayRef dim, bool keepdim = false) const;
  // Unlike an empty list, which reduces no dimension, a missing one reduces all.
  template <OptionalDims Dim>
  Tensor all(const Dim& dim, bool keepdim = false) const {
    const optional<IntArrayRef> given(dim);
    return given ? all(*given, keepdim) : keepdim ? all().view(Dims(sizes().size(), 1)) : all();
  }
  template <OptionalDims Dim>
  Tensor any(const Dim& dim, bool keepdim = false) const {
    const optional<IntArrayRef> given(dim);
    return given ? any(*given, keepdim) : keepdim ? any().view(Dims(sizes().size(), 1)) : any();
  }
  Tensor sum_to_size(IntArrayRef size) const;
  Tensor dist(const Tensor& other, const Scalar& p = 2) const;
  Tensor histc(int64_t bins = 100, const Scalar& min = 0, const Scalar& max = 0) const;
  Tensor quantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const;
  Tensor quantile(const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                  std::string_view interpolation = "linear") const;
  Tensor logsumexp(IntArrayRef dim, bool keepdim = false) const;
  Tensor softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor log_softmax(int64_t dim, optional<ScalarType> dtype = nullopt) const;
  Tensor count_nonzero() const;
  Tensor count_nonzero(std::nullopt_t) const { return count_nonzero(); }
  Tensor count_nonzero(IntArrayRef dim) const;
  template <std::same_as<optional<int64_t>> Dim>
  Tensor count_nonzero(const Dim& dim) const {
    return dim ? count_nonzero(IntArrayRef(*dim)) : count_nonzero();
  }
  Tensor nonzero() const;
  Tensor argwhere() const;

  // ---- sort.h
  std::tuple<Tensor, Tensor> sort(int64_t dim = -1, bool descending = false) const;
  std::tuple<Tensor, Tensor> sort(optional<bool> stable, int64_t dim = -1, bool descending = false) const;
  Tensor argsort(int64_t dim = -1, bool descending = false) const;
  template <std::same_as<bool> Stable>
  Tensor argsort(Stable stable, int64_t dim = -1, bool descending = false) const {
    return std::get<1>(sort(optional<bool>(stable), dim, descending));
  }
  Tensor msort() const;
  std::tuple<Tensor, Tensor> kthvalue(int64_t k, int64_t dim = -1, bool keepdim = false) const;
  Tensor median() const;
  std::tuple<Tensor, Tensor> median(int64_t dim, bool keepdim = false) const;
  std::tuple<Tensor, Tensor> mode(int64_t dim = -1, bool keepdim = false) const;
  Tensor bincount(const Tensor& weights = {}, int64_t minlength = 0) const;
  std::tuple<Tensor, Tensor> topk(int64_t k, int64_t dim = -1, bool largest = true, bool sorted = true) const;

  // ---- view.h
  Tensor view(IntArrayRef size) const;
  Tensor view(ScalarType dtype) const;
  Tensor view_as(const Tensor& other) const { return view(other.sizes()); }
  /// A view of all of it.
  Tensor alias() const { return view(sizes()); }
  Tensor reshape(IntArrayRef shape) const;
  Tensor reshape_as(const Tensor& other) const { return reshape(other.sizes()); }
  Tensor flatten(int64_t start_dim = 0, int64_t end_dim = -1) const;
  Tensor unflatten(int64_t dim, IntArrayRef sizes) const;
  Tensor ravel() const { return contiguous().reshape({-1}); }
  Tensor slice(int64_t dim = 0, optional<int64_t> start = nullopt, optional<int64_t> end = nullopt,
               int64_t step = 1) const;
  Tensor select(int64_t dim, int64_t index) const;
  Tensor narrow(int64_t dim, int64_t start, int64_t length) const;
  Tensor narrow(int64_t dim, const Tensor& start, int64_t length) const;
  Tensor transpose(int64_t dim0, int64_t dim1) const;
  Tensor& transpose_(int64_t dim0, int64_t dim1) const;
  Tensor t() const;
  Tensor& t_() const;
  Tensor mT() const { return transpose(-2, -1); }
  Tensor permute(IntArrayRef dims) const;
  Tensor movedim(int64_t source, int64_t destination) const;
  Tensor movedim(IntArrayRef source, IntArrayRef destination) const;
  Tensor expand(IntArrayRef size, bool implicit = false) const;
  Tensor expand_as(const Tensor& other) const { return expand(other.sizes()); }
  Tensor squeeze() const;
  Tensor squeeze(int64_t dim) const;
  Tensor squeeze(IntArrayRef dim) const;
  Tensor& squeeze_() const;
  Tensor& squeeze_(int64_t dim) const;
  Tensor& squeeze_(IntArrayRef dim) const;
  Tensor unsqueeze(int64_t dim) const;
  Tensor& unsqueeze_(int64_t dim) const;
  Tensor unfold(int64_t dimension, int64_t size, int64_t step) const;
  Tensor diagonal(int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor diag(int64_t diagonal = 0) const;
  Tensor diag_embed(int64_t offset = 0, int64_t dim1 = -2, int64_t dim2 = -1) const;
  Tensor diagflat(int64_t offset = 0) const;
  Tensor trace() const;
  Tensor& fill_diagonal_(const Scalar& value, bool wrap = false) const;
  Tensor diagonal_scatter(const Tensor& src, int64_t offset = 0, int64_t dim1 = 0, int64_t dim2 = 1) const;
  Tensor select_scatter(const Tensor& src, int64_t dim, int64_t index) const;
  Tensor slice_scatter(const Tensor& src, int64_t dim = 0, optional<int64_t> start = nullopt,
                       optional<int64_t> end = nullopt, int64_t step = 1) const;
  /// Changes the shape in place, in row-major order, and keeps the memory. The storage grows if it is too small; new
  /// elements are uninitialised. Throws Error if the tensor requires a gradient.
  const Tensor& resize_(IntArrayRef size) const;
  /// Throws Error for another format than Contiguous.
  const Tensor& resize_(IntArrayRef size, optional<MemoryFormat> format) const;
  const Tensor& resize_as_(const Tensor& other, optional<MemoryFormat> format = nullopt) const {
    return resize_(other.sizes(), format);
  }
  Tensor as_strided(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) const;
  std::vector<Tensor> split(int64_t split_size, int64_t dim = 0) const;
  std::vector<Tensor> split(IntArrayRef sizes, int64_t dim = 0) const;
  std::vector<Tensor> split_with_sizes(IntArrayRef sizes, int64_t dim = 0) const { return split(sizes, dim); }
  std::vector<Tensor> chunk(int64_t chunks, int64_t dim = 0) const;
  std::vector<Tensor> unbind(int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(int64_t sections, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(IntArrayRef indices, int64_t dim = 0) const;
  std::vector<Tensor> tensor_split(const Tensor& indices_or_sections, int64_t dim = 0) const;
  std::vector<Tensor> hsplit(int64_t sections) const;
  std::vector<Tensor> hsplit(IntArrayRef indices) const;
  std::vector<Tensor> vsplit(int64_t sections) const;
  std::vector<Tensor> vsplit(IntArrayRef indices) const;
  std::vector<Tensor> dsplit(int64_t sections) const;
  std::vector<Tensor> dsplit(IntArrayRef indices) const;
  Tensor repeat(IntArrayRef repeats) const;
  Tensor repeat_interleave(int64_t repeats, optional<int64_t> dim = nullopt,
                           optional<int64_t> output_size = nullopt) const;
  Tensor repeat_interleave(const Tensor& repeats, optional<int64_t> dim = nullopt,
                           optional<int64_t> output_size = nullopt) const;
  Tensor tile(IntArrayRef repeats) const;
  Tensor flip(IntArrayRef dims) const;
  Tensor fliplr() const { return flip({1}); }
  Tensor flipud() const { return flip({0}); }
  Tensor rot90(int64_t k = 1, IntArrayRef dims = {0, 1}) const;
  Tensor roll(IntArrayRef shifts, IntArrayRef dims = {}) const;

  // ---- index.h, gather.h
  Tensor operator[](int64_t index) const { return select(0, index); }
  Tensor operator[](const Scalar& index) const { return select(0, index.toLong()); }
  Tensor operator[](const Tensor& index) const;
  Tensor index(ArrayRef<indexing::TensorIndex> indices) const;
  Tensor index(std::initializer_list<indexing::TensorIndex> indices) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Tensor& value) const;
  Tensor& index_put_(ArrayRef<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Tensor& value) const;
  Tensor& index_put_(std::initializer_list<indexing::TensorIndex> indices, const Scalar& value) const;
  Tensor& index_put_(ArrayRef<Tensor> indices, const Tensor& value, bool accumulate) const;
  Tensor index_put(ArrayRef<Tensor> indices, const Tensor& value, bool accumulate = false) const;
  Tensor gather(int64_t dim, const Tensor& index) const;
  /// There are no sparse gradients: `sparse_grad` is not read.
  Tensor gather(int64_t dim, const Tensor& index, bool /*sparse_grad*/) const { return gather(dim, index); }
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor scatter_add(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor& scatter_add_(int64_t dim, const Tensor& index, const Tensor& src) const;
  Tensor index_select(int64_t dim, const Tensor& index) const;
  Tensor index_add(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  Tensor& index_add_(int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha = 1) const;
  Tensor& index_copy_(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor index_copy(int64_t dim, const Tensor& index, const Tensor& source) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Scalar& value) const;
  Tensor index_fill(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor& index_fill_(int64_t dim, const Tensor& index, const Tensor& value) const;
  Tensor take_along_dim(const Tensor& index, optional<int64_t> dim = nullopt) const;
  Tensor take(const Tensor& index) const;

  // ---- numbers.h, running.h, statistics.h, histogram.h, scatter_reduce.h, complex.h, addbmm.h, distributions.h,
  // whole_tensor.h
  Tensor gcd(const Tensor& other) const;
  Tensor& gcd_(const Tensor& other) const;
  Tensor lcm(const Tensor& other) const;
  Tensor& lcm_(const Tensor& other) const;
  Tensor nextafter(const Tensor& other) const;
  Tensor& nextafter_(const Tensor& other) const;
  std::tuple<Tensor, Tensor> frexp() const;
  Tensor ldexp(const Tensor& other) const;
  Tensor& ldexp_(const Tensor& other) const;
  Tensor angle() const;
  Tensor isreal() const;
  Tensor conj_physical() const;
  Tensor& conj_physical_() const;
  std::tuple<Tensor, Tensor> cummax(int64_t dim) const;
  std::tuple<Tensor, Tensor> cummin(int64_t dim) const;
  Tensor logcumsumexp(int64_t dim) const;
  Tensor cov(int64_t correction = 1, const Tensor& fweights = {}, const Tensor& aweights = {}) const;
  Tensor corrcoef() const;
  Tensor nanmedian() const;
  std::tuple<Tensor, Tensor> nanmedian(int64_t dim, bool keepdim = false) const;
  Tensor nanquantile(double q, optional<int64_t> dim = nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") const;
  Tensor nanquantile(const Tensor& q, optional<int64_t> dim = nullopt, bool keepdim = false,
                     std::string_view interpolation = "linear") const;
  std::tuple<Tensor, Tensor> histogram(const Tensor& bins, const Tensor& weight = {}, bool density = false) const;
  std::tuple<Tensor, Tensor> histogram(int64_t bins = 100, optional<ArrayRef<double>> range = nullopt,
                                       const Tensor& weight = {}, bool density = false) const;
  Tensor scatter_reduce(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                        bool include_self = true) const;
  Tensor& scatter_reduce_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce,
                          bool include_self = true) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const;
  Tensor scatter(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Tensor& src, std::string_view reduce) const;
  Tensor& scatter_(int64_t dim, const Tensor& index, const Scalar& value, std::string_view reduce) const;
  Tensor index_reduce(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                      bool include_self = true) const;
  Tensor& index_reduce_(int64_t dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                        bool include_self = true) const;
  Tensor put(const Tensor& index, const Tensor& source, bool accumulate = false) const;
  Tensor& put_(const Tensor& index, const Tensor& source, bool accumulate = false) const;
  Tensor addbmm(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& addbmm_(const Tensor& batch1, const Tensor& batch2, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor renorm(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;
  Tensor& renorm_(const Scalar& p, int64_t dim, const Scalar& maxnorm) const;
  Tensor& cauchy_(double median = 0, double sigma = 1, optional<Generator> generator = nullopt) const;
  Tensor& log_normal_(double mean = 1, double std = 2, optional<Generator> generator = nullopt) const;
  Tensor& geometric_(double p, optional<Generator> generator = nullopt) const;
  Tensor& set_() const;
  Tensor& set_(const Tensor& source) const;
  Tensor& set_(const Storage& source) const;
  Tensor& set_(const Storage& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride = {}) const;
  Tensor& set_(const Tensor& source, int64_t storage_offset, IntArrayRef size, IntArrayRef stride = {}) const {
    return set_(source.storage(), storage_offset, size, stride);
  }
  const Tensor& as_strided_(IntArrayRef size, IntArrayRef stride, optional<int64_t> storage_offset = nullopt) const;
  Tensor new_empty_strided(IntArrayRef size, IntArrayRef stride, const TensorOptions& options = {}) const;
  Tensor new_empty_strided(IntArrayRef size, IntArrayRef stride, optional<ScalarType> dtype, optional<Layout> layout,
                           optional<Device> device, optional<bool> pin_memory) const {
    return new_empty_strided(size, stride, options_of(dtype, layout, device, pin_memory));
  }
  std::vector<Tensor> nonzero_numpy() const;
  Tensor nonzero_static(int64_t size, int64_t fill_value = -1) const;
  Tensor as_strided_scatter(const Tensor& src, IntArrayRef size, IntArrayRef stride,
                            optional<int64_t> storage_offset = nullopt) const;
  Tensor& heaviside_(const Tensor& values) const;
  Tensor& float_power_(const Tensor& exponent) const;
  Tensor& float_power_(const Scalar& exponent) const;

  // ---- linalg.h
  Tensor mm(const Tensor& other) const;
  Tensor bmm(const Tensor& other) const;
  Tensor matmul(const Tensor& other) const;
  Tensor mv(const Tensor& vec) const;
  Tensor dot(const Tensor& other) const;
  Tensor outer(const Tensor& other) const;
  Tensor addmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& addmm_(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor baddbmm(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& baddbmm_(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor addmv(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& addmv_(const Tensor& mat, const Tensor& vec, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor addr(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor& addr_(const Tensor& a, const Tensor& b, const Scalar& beta = 1, const Scalar& alpha = 1) const;
  Tensor inner(const Tensor& other) const;
  Tensor kron(const Tensor& other) const;
  Tensor cross(const Tensor& other, optional<int64_t> dim = nullopt) const;
  Tensor matrix_power(int64_t n) const;

  // ---- decompositions and functions of matrices (autograd/ops/linalg/linalg.h)
  Tensor det() const;
  Tensor logdet() const;
  std::tuple<Tensor, Tensor> slogdet() const;
  Tensor inverse() const;
  Tensor pinverse(double rcond = 1e-15) const;
  Tensor matrix_exp() const;
  Tensor cholesky(bool upper = false) const;
  Tensor cholesky_inverse(bool upper = false) const;
  Tensor cholesky_solve(const Tensor& input2, bool upper = false) const;
  Tensor lu_solve(const Tensor& LU_data, const Tensor& LU_pivots) const;
  std::tuple<Tensor, Tensor> triangular_solve(const Tensor& A, bool upper = true, bool transpose = false,
                                              bool unitriangular = false) const;
  std::tuple<Tensor, Tensor, Tensor> svd(bool some = true, bool compute_uv = true) const;
  std::tuple<Tensor, Tensor> qr(bool some = true) const;
  std::tuple<Tensor, Tensor> geqrf() const;
  Tensor orgqr(const Tensor& input2) const;
  Tensor ormqr(const Tensor& input2, const Tensor& input3, bool left = true, bool transpose = false) const;

  // ---- stft.h
  Tensor stft(int64_t n_fft, optional<int64_t> hop_length, optional<int64_t> win_length, const Tensor& window,
              bool normalized, optional<bool> onesided = nullopt, optional<bool> return_complex = nullopt,
              optional<bool> align_to_window = nullopt) const;
  Tensor stft(int64_t n_fft, optional<int64_t> hop_length = nullopt, optional<int64_t> win_length = nullopt,
              const Tensor& window = {}, bool center = true, std::string_view pad_mode = "reflect",
              bool normalized = false, optional<bool> onesided = nullopt, optional<bool> return_complex = nullopt,
              optional<bool> align_to_window = nullopt) const;
  Tensor istft(int64_t n_fft, optional<int64_t> hop_length = nullopt, optional<int64_t> win_length = nullopt,
               const Tensor& window = {}, bool center = true, bool normalized = false,
               optional<bool> onesided = nullopt, optional<int64_t> length = nullopt,
               bool return_complex = false) const;

  // ---- special functions (autograd/ops/pointwise/special.h)
  Tensor lgamma() const;
  Tensor& lgamma_() const;
  Tensor digamma() const;
  Tensor& digamma_() const;
  Tensor polygamma(int64_t n) const;
  Tensor& polygamma_(int64_t n) const;
  Tensor mvlgamma(int64_t p) const;
  Tensor& mvlgamma_(int64_t p) const;
  Tensor erfinv() const;
  Tensor& erfinv_() const;
  Tensor i0() const;
  Tensor& i0_() const;
  Tensor igamma(const Tensor& other) const;
  Tensor& igamma_(const Tensor& other) const;
  Tensor igammac(const Tensor& other) const;
  Tensor& igammac_(const Tensor& other) const;
  Tensor hardshrink(const Scalar& lambda = 0.5) const;
  Tensor prelu(const Tensor& weight) const;

  // ---- aliases of the above
  Tensor absolute() const { return abs(); }
  Tensor& absolute_() const { return abs_(); }
  Tensor negative() const { return neg(); }
  Tensor& negative_() const { return neg_(); }
  Tensor arcsin() const { return asin(); }
  Tensor& arcsin_() const { return asin_(); }
  Tensor arccos() const { return acos(); }
  Tensor& arccos_() const { return acos_(); }
  Tensor arctan() const { return atan(); }
  Tensor& arctan_() const { return atan_(); }
  Tensor arcsinh() const { return asinh(); }
  Tensor& arcsinh_() const { return asinh_(); }
  Tensor arccosh() const { return acosh(); }
  Tensor& arccosh_() const { return acosh_(); }
  Tensor arctanh() const { return atanh(); }
  Tensor& arctanh_() const { return atanh_(); }
  Tensor fix() const { return trunc(); }
  Tensor& fix_() const { return trunc_(); }
  Tensor multiply(const Tensor& other) const { return mul(other); }
  Tensor& multiply_(const Tensor& other) const { return mul_(other); }
  Tensor multiply(const Scalar& other) const { return mul(other); }
  Tensor& multiply_(const Scalar& other) const { return mul_(other); }
  Tensor divide(const Tensor& other) const { return div(other); }
  Tensor& divide_(const Tensor& other) const { return div_(other); }
  Tensor divide(const Scalar& other) const { return div(other); }
  Tensor& divide_(const Scalar& other) const { return div_(other); }
  Tensor divide(const Tensor& other, optional<std::string_view> rounding_mode) const {
    return div(other, rounding_mode);
  }
  Tensor& divide_(const Tensor& other, optional<std::string_view> rounding_mode) const {
    return div_(other, rounding_mode);
  }
  Tensor divide(const Scalar& other, optional<std::string_view> rounding_mode) const {
    return div(other, rounding_mode);
  }
  Tensor& divide_(const Scalar& other, optional<std::string_view> rounding_mode) const {
    return div_(other, rounding_mode);
  }
  Tensor true_divide(const Tensor& other) const { return div(other); }
  Tensor& true_divide_(const Tensor& other) const { return div_(other); }
  Tensor true_divide(const Scalar& other) const { return div(other); }
  Tensor& true_divide_(const Scalar& other) const { return div_(other); }
  Tensor greater(const Tensor& other) const { return gt(other); }
  Tensor& greater_(const Tensor& other) const { return gt_(other); }
  Tensor greater(const Scalar& other) const { return gt(other); }
  Tensor& greater_(const Scalar& other) const { return gt_(other); }
  Tensor greater_equal(const Tensor& other) const { return ge(other); }
  Tensor& greater_equal_(const Tensor& other) const { return ge_(other); }
  Tensor greater_equal(const Scalar& other) const { return ge(other); }
  Tensor& greater_equal_(const Scalar& other) const { return ge_(other); }
  Tensor less(const Tensor& other) const { return lt(other); }
  Tensor& less_(const Tensor& other) const { return lt_(other); }
  Tensor less(const Scalar& other) const { return lt(other); }
  Tensor& less_(const Scalar& other) const { return lt_(other); }
  Tensor less_equal(const Tensor& other) const { return le(other); }
  Tensor& less_equal_(const Tensor& other) const { return le_(other); }
  Tensor less_equal(const Scalar& other) const { return le(other); }
  Tensor& less_equal_(const Scalar& other) const { return le_(other); }
  Tensor not_equal(const Tensor& other) const { return ne(other); }
  Tensor& not_equal_(const Tensor& other) const { return ne_(other); }
  Tensor not_equal(const Scalar& other) const { return ne(other); }
  Tensor& not_equal_(const Scalar& other) const { return ne_(other); }
  Tensor subtract(const Tensor& other, const Scalar& alpha = 1) const { return sub(other, alpha); }
  Tensor& subtract_(const Tensor& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor subtract(const Scalar& other, const Scalar& alpha = 1) const { return sub(other, alpha); }
  Tensor& subtract_(const Scalar& other, const Scalar& alpha = 1) const { return sub_(other, alpha); }
  Tensor& clip_(const optional<Scalar>& min = nullopt, const optional<Scalar>& max = nullopt) const {
    return clamp_(min, max);
  }
  Tensor clip(const Tensor& min, const Tensor& max = {}) const { return clamp(min, max); }
  Tensor& clip_(const Tensor& min, const Tensor& max = {}) const { return clamp_(min, max); }
  Tensor& arctan2_(const Tensor& other) const { return atan2_(other); }
  Tensor arctan2(const Tensor& other) const { return atan2(other); }
  Tensor swapaxes(int64_t axis0, int64_t axis1) const { return transpose(axis0, axis1); }
  Tensor& swapaxes_(int64_t axis0, int64_t axis1) const { return transpose_(axis0, axis1); }
  Tensor swapdims(int64_t dim0, int64_t dim1) const { return transpose(dim0, dim1); }
  Tensor& swapdims_(int64_t dim0, int64_t dim1) const { return transpose_(dim0, dim1); }
  Tensor moveaxis(int64_t source, int64_t destination) const { return movedim(source, destination); }
  Tensor moveaxis(IntArrayRef source, IntArrayRef destination) const { return movedim(source, destination); }
  Tensor broadcast_to(IntArrayRef size) const { return expand(size); }
  Tensor positive() const { return *this; }
  // Conjugates and negatives are always computed, and memory is shared: the tensor itself.
  Tensor resolve_conj() const { return *this; }
  Tensor resolve_neg() const { return *this; }
  Tensor& share_memory_() const { return detail::mutable_handle(*this); }
  /// The complex conjugate; a real tensor itself.
  Tensor conj() const;
  /// The last two dimensions exchanged, and complex numbers conjugated. Throws Error for a vector.
  Tensor adjoint() const;
  Tensor mH() const { return adjoint(); }
  /// The transpose of a matrix; throws Error above two dimensions.
  Tensor matrix_H() const;
  /// The dimensions in reverse order.
  Tensor numpy_T() const;
  Tensor sgn() const;
  Tensor& sgn_() const;
  Tensor ger(const Tensor& other) const { return outer(other); }
  Tensor vdot(const Tensor& other) const;
  /// f(*this, arguments...).
  template <class F, class... Arguments>
  decltype(auto) m(F f, Arguments&&... arguments) const {
    return f(*this, std::forward<Arguments>(arguments)...);
  }

 private:
  TensorImpl& get() const {
    if (impl_.get() == nullptr) [[unlikely]]
      undefined();
    return *impl_;
  }
  int64_t wrap(int64_t d) const {
    const auto n = static_cast<int64_t>(get().sizes.size());
    if (d < -n || d >= n) [[unlikely]]
      bad_dim(d, n);
    return d < 0 ? d + n : d;
  }
  [[noreturn]] static void undefined();
  [[noreturn]] static void bad_dim(int64_t d, int64_t n);
  [[noreturn]] void wrong_type(ScalarType asked) const;
  void check_accessor(std::size_t rank) const;
  void check_packed(std::size_t rank, bool in_32_bits) const;

  IntrusivePtr<TensorImpl> impl_;
};

inline void append(std::string& out, const Tensor& t) { out.append(t.defined() ? t.describe() : "undefined"); }

/// An uninitialised tensor, without autograd. `device` must have an index.
Tensor empty_raw(IntArrayRef sizes, ScalarType dtype, Device device);
/// The same, channels-last if `format` is. core/memory_format.h says which layout a result has.
Tensor empty_raw(IntArrayRef sizes, ScalarType dtype, Device device, MemoryFormat format);
/// A view of `base`'s storage, without autograd. The arguments are not checked.
Tensor alias(const Tensor& base, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
/// The same with another dtype, in whose elements strides and offset count.
Tensor alias_as(const Tensor& base, ScalarType dtype, IntArrayRef sizes, IntArrayRef strides, int64_t offset);
/// The real and imaginary parts of a complex tensor as a view with one more dimension, of size 2; without autograd.
Tensor parts_raw(const Tensor& complex);
/// to = from, which broadcasts to it, on one device; any dtypes. Without autograd, and without a new version.
void copy_raw(const Tensor& to, const Tensor& from);
void fill_raw(const Tensor& to, const Scalar& value);
/// The bytes of `from` to `to`, both row-major, of one size, on the host or on devices of one type, in the order of the
/// current streams. Returns when a buffer on the host may be reused, unless `non_blocking`.
void copy_bytes_raw(const Tensor& to, const Tensor& from, bool non_blocking);

}  // namespace tandem
