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
  TensorOptions(ScalarType type) : dtype_(type), has_dtype_(true) {}
  TensorOptions(TypeMeta type) : TensorOptions(type.toScalarType()) {}
  // A template, so that {kCUDA, 1} is a TensorOptions where a function takes that or a Device.
  template <std::same_as<Device> D>
  TensorOptions(D device) : device_(device), has_device_(true) {}
  TensorOptions(DeviceType type) : TensorOptions(Device(type)) {}
  /// "cuda:0". A template, so that {0} is no text.
  template <std::convertible_to<std::string> Text>
  TensorOptions(Text device) : TensorOptions(Device(std::string(device))) {}
  TensorOptions(DeviceType type, DeviceIndex index) : TensorOptions(Device(type, index)) {}
  TensorOptions(Layout layout) : layout_(layout), has_layout_(true) {}
  TensorOptions(MemoryFormat format) : format_(format), has_format_(true) {}

  [[nodiscard]] TensorOptions dtype(optional<ScalarType> type) const {
    TensorOptions out = *this;
    out.has_dtype_ = type.has_value();
    if (type) out.dtype_ = *type;
    return out;
  }
  [[nodiscard]] TensorOptions dtype(TypeMeta type) const { return dtype(optional(type.toScalarType())); }
  template <class T>
  [[nodiscard]] TensorOptions dtype() const {
    return dtype(TypeMeta::Make<T>());
  }
  [[nodiscard]] TensorOptions device(optional<Device> device) const {
    TensorOptions out = *this;
    out.has_device_ = device.has_value();
    if (device) out.device_ = *device;
    return out;
  }
  [[nodiscard]] TensorOptions device(DeviceType type, DeviceIndex index = -1) const {
    return device(Device(type, index));
  }
  /// A GPU.
  [[nodiscard]] TensorOptions device_index(DeviceIndex index) const { return device(kCUDA, index); }
  [[nodiscard]] TensorOptions layout(optional<Layout> layout) const {
    TensorOptions out = *this;
    out.layout_ = layout.value_or(kStrided);
    out.has_layout_ = layout.has_value();
    return out;
  }
  [[nodiscard]] TensorOptions requires_grad(optional<bool> value) const {
    TensorOptions out = *this;
    out.requires_grad_ = value.value_or(false);
    out.has_requires_grad_ = value.has_value();
    return out;
  }
  [[nodiscard]] TensorOptions pinned_memory(optional<bool> value) const {
    TensorOptions out = *this;
    out.pinned_ = value.value_or(false);
    out.has_pinned_ = value.has_value();
    return out;
  }
  [[nodiscard]] TensorOptions memory_format(optional<MemoryFormat> format) const {
    TensorOptions out = *this;
    out.format_ = format.value_or(MemoryFormat::Contiguous);
    out.has_format_ = format.has_value();
    return out;
  }
  /// These options, replaced by what `other` sets.
  [[nodiscard]] TensorOptions merge_in(const TensorOptions& other) const;
  [[nodiscard]] TensorOptions merge_memory_format(optional<MemoryFormat> format) const {
    return format ? memory_format(format) : *this;
  }

  /// Unset options default to the default dtype, the CPU, and no gradient.
  TypeMeta dtype() const { return TypeMeta(has_dtype_ ? dtype_ : get_default_dtype()); }
  Device device() const { return has_device_ ? device_ : Device(kCPU); }
  DeviceIndex device_index() const { return device().index(); }
  /// device() with an index, for a new tensor. Throws NotImplementedError for a layout that is not strided, and as
  /// resolve does.
  Device resolved_device() const {
    if (layout_ != kStrided) throw NotImplementedError("tensors are strided: there are no sparse layouts");
    return resolve(device());
  }
  Layout layout() const { return layout_; }
  bool is_sparse() const { return layout_ == kSparse; }
  bool is_sparse_csr() const { return layout_ == kSparseCsr; }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_; }
  bool has_dtype() const { return has_dtype_; }
  bool has_device() const { return has_device_; }
  bool has_layout() const { return has_layout_; }
  bool has_requires_grad() const { return has_requires_grad_; }
  bool has_pinned_memory() const { return has_pinned_; }
  bool has_memory_format() const { return has_format_; }
  optional<TypeMeta> dtype_opt() const { return has_dtype_ ? optional(TypeMeta(dtype_)) : nullopt; }
  optional<Device> device_opt() const { return has_device_ ? optional(device_) : nullopt; }
  optional<Layout> layout_opt() const { return has_layout_ ? optional(layout_) : nullopt; }
  optional<bool> requires_grad_opt() const { return has_requires_grad_ ? optional(requires_grad_) : nullopt; }
  optional<bool> pinned_memory_opt() const { return has_pinned_ ? optional(pinned_) : nullopt; }
  optional<MemoryFormat> memory_format_opt() const { return has_format_ ? optional(format_) : nullopt; }

 private:
  Device device_;
  ScalarType dtype_ = kFloat;
  MemoryFormat format_ = MemoryFormat::Contiguous;
  Layout layout_ = kStrided;
  bool has_dtype_ = false, has_device_ = false, has_layout_ = false, has_format_ = false;
  bool requires_grad_ = false, has_requires_grad_ = false, pinned_ = false, has_pinned_ = false;
};
inline TensorOptions TensorOptions::merge_in(const TensorOptions& other) const {
  TensorOptions out = *this;
  if (other.has_dtype()) out = out.dtype(optional(other.dtype_));
  if (other.has_device()) out = out.device(optional(other.device_));
  if (other.has_layout()) out = out.layout(other.layout_);
  if (other.has_requires_grad()) out = out.requires_grad(other.requires_grad_);
  if (other.has_pinned_memory()) out = out.pinned_memory(other.pinned_);
  return out.merge_memory_format(other.memory_format_opt());
}

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
