// TensorOptions: dtype, device and requires_grad of a new tensor, all optional.
#pragma once
#include <concepts>
#include <optional>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"

namespace tandem {

using std::nullopt;
using std::nullopt_t;
using std::optional;

/// Tensors are strided. The others are LibTorch's, with its numbers, for programs that name them.
enum class Layout : int8_t { Strided, Sparse, SparseCsr, Mkldnn, SparseCsc, SparseBsr, SparseBsc, Jagged };
inline constexpr Layout kStrided = Layout::Strided;
inline constexpr Layout kSparse = Layout::Sparse;
inline constexpr Layout kSparseCsr = Layout::SparseCsr;
inline constexpr Layout kMkldnn = Layout::Mkldnn;
inline constexpr Layout kSparseCsc = Layout::SparseCsc;
inline constexpr Layout kSparseBsr = Layout::SparseBsr;
inline constexpr Layout kSparseBsc = Layout::SparseBsc;
inline constexpr Layout kJagged = Layout::Jagged;
/// The order of a new tensor's elements in memory. Contiguous: row-major. ChannelsLast, for [N, C, H, W], and
/// ChannelsLast3d, for [N, C, D, H, W]: row-major with the channels as the last dimension. Preserve: channels-last if
/// the source is, else row-major, whatever its order.
enum class MemoryFormat : int8_t { Contiguous, Preserve, ChannelsLast, ChannelsLast3d };

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type) {}
  TensorOptions(TypeMeta type) : TensorOptions(type.toScalarType()) {}
  // A template, so that {kCUDA, 1} is a TensorOptions where a function takes that or a Device.
  template <std::same_as<Device> D>
  TensorOptions(D device) : device_(device) {}
  TensorOptions(DeviceType type) : TensorOptions(Device(type)) {}
  /// "cuda:0". A template, so that {0} is no text.
  template <std::convertible_to<std::string> Text>
  TensorOptions(Text device) : TensorOptions(Device(std::string(device))) {}
  TensorOptions(DeviceType type, DeviceIndex index) : TensorOptions(Device(type, index)) {}
  TensorOptions(Layout layout) : layout_(layout) {}
  TensorOptions(MemoryFormat format) : format_(format) {}

  [[nodiscard]] TensorOptions dtype(optional<ScalarType> type) const { return with(&TensorOptions::dtype_, type); }
  [[nodiscard]] TensorOptions dtype(TypeMeta type) const { return dtype(optional(type.toScalarType())); }
  template <class T>
  [[nodiscard]] TensorOptions dtype() const {
    return dtype(TypeMeta::Make<T>());
  }
  [[nodiscard]] TensorOptions device(optional<Device> device) const { return with(&TensorOptions::device_, device); }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  /// A GPU.
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const { return device(kCUDA, index); }
  [[nodiscard]] TensorOptions layout(optional<Layout> layout) const { return with(&TensorOptions::layout_, layout); }
  [[nodiscard]] TensorOptions requires_grad(optional<bool> value) const {
    return with(&TensorOptions::requires_grad_, value);
  }
  [[nodiscard]] TensorOptions pinned_memory(optional<bool> value) const { return with(&TensorOptions::pinned_, value); }
  [[nodiscard]] TensorOptions memory_format(optional<MemoryFormat> format) const {
    return with(&TensorOptions::format_, format);
  }
  /// These options, replaced by what `other` sets.
  [[nodiscard]] TensorOptions merge_in(const TensorOptions& other) const {
    TensorOptions out = *this;
    if (other.dtype_) out.dtype_ = other.dtype_;
    if (other.device_) out.device_ = other.device_;
    if (other.layout_) out.layout_ = other.layout_;
    if (other.requires_grad_) out.requires_grad_ = other.requires_grad_;
    if (other.pinned_) out.pinned_ = other.pinned_;
    return out.merge_memory_format(other.format_);
  }
  [[nodiscard]] TensorOptions merge_memory_format(optional<MemoryFormat> format) const {
    return format ? memory_format(format) : *this;
  }

  /// Unset options default to the default dtype, the CPU, and no gradient.
  TypeMeta dtype() const { return TypeMeta(dtype_ ? *dtype_ : get_default_dtype()); }
  Device device() const { return device_.value_or(Device(kCPU)); }
  DeviceIndex device_index() const { return device().index(); }
  /// device() with an index, for a new tensor. Throws NotImplementedError for a layout that is not strided, and as
  /// resolve does.
  Device resolved_device() const {
    if (layout() != kStrided) throw NotImplementedError("tensors are strided: there are no sparse layouts");
    return resolve(device());
  }
  Layout layout() const { return layout_.value_or(kStrided); }
  bool is_sparse() const { return layout() == kSparse; }
  bool is_sparse_csr() const { return layout() == kSparseCsr; }
  bool requires_grad() const { return requires_grad_.value_or(false); }
  bool pinned_memory() const { return pinned_.value_or(false); }
  bool has_dtype() const { return dtype_.has_value(); }
  bool has_device() const { return device_.has_value(); }
  bool has_layout() const { return layout_.has_value(); }
  bool has_requires_grad() const { return requires_grad_.has_value(); }
  bool has_pinned_memory() const { return pinned_.has_value(); }
  bool has_memory_format() const { return format_.has_value(); }
  optional<TypeMeta> dtype_opt() const { return dtype_ ? optional(TypeMeta(*dtype_)) : nullopt; }
  optional<Device> device_opt() const { return device_; }
  optional<Layout> layout_opt() const { return layout_; }
  optional<bool> requires_grad_opt() const { return requires_grad_; }
  optional<bool> pinned_memory_opt() const { return pinned_; }
  optional<MemoryFormat> memory_format_opt() const { return format_; }

 private:
  template <class T>
  TensorOptions with(optional<T> TensorOptions::*option, optional<T> value) const {
    TensorOptions out = *this;
    out.*option = value;
    return out;
  }

  optional<Device> device_;
  optional<ScalarType> dtype_;
  optional<MemoryFormat> format_;
  optional<Layout> layout_;
  optional<bool> requires_grad_, pinned_;
};
/// LibTorch's four parameters that may stand in place of options.
inline TensorOptions options_of(optional<ScalarType> dtype, optional<Layout> layout, optional<Device> device,
                                optional<bool> pin_memory) {
  return TensorOptions().dtype(dtype).layout(layout).device(device).pinned_memory(pin_memory);
}
inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions dtype(TypeMeta type) { return TensorOptions(type); }
template <class T>
TensorOptions dtype() {
  return TensorOptions(TypeMeta::Make<T>());
}
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions device(DeviceType type, DeviceIndex index = -1) { return TensorOptions(Device(type, index)); }
inline TensorOptions device_index(DeviceIndex index) { return TensorOptions().device_index(index); }
inline TensorOptions layout(Layout layout) { return TensorOptions(layout); }
inline TensorOptions memory_format(MemoryFormat format) { return TensorOptions(format); }
inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }

}  // namespace tandem
