// TensorOptions: dtype, device and requires_grad of a new tensor, all optional.
#pragma once
#include <optional>

#include "tandem/core/device.h"
#include "tandem/core/dtype.h"

namespace tandem {

using std::nullopt;
using std::optional;

enum class Layout : int8_t { Strided };
inline constexpr Layout kStrided = Layout::Strided;
enum class MemoryFormat : int8_t { Contiguous, Preserve };

class TensorOptions {
 public:
  TensorOptions() = default;
  TensorOptions(ScalarType type) : dtype_(type), has_dtype_(true) {}
  TensorOptions(Device device) : device_(device), has_device_(true) {}
  TensorOptions(DeviceType type) : TensorOptions(Device(type)) {}
  /// "cuda:0". A template, so that a literal 0 prefers the numeric overload.
  template <std::size_t N>
  TensorOptions(const char (&device)[N]) : TensorOptions(Device(device)) {}
  TensorOptions(const std::string& device) : TensorOptions(Device(device)) {}
  TensorOptions(Layout) {}

  [[nodiscard]] TensorOptions dtype(optional<ScalarType> type) const {
    TensorOptions out = *this;
    out.has_dtype_ = type.has_value();
    if (type) out.dtype_ = *type;
    return out;
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
  [[nodiscard]] TensorOptions layout(optional<Layout>) const { return *this; }
  [[nodiscard]] TensorOptions requires_grad(bool value) const {
    TensorOptions out = *this;
    out.requires_grad_ = value;
    return out;
  }
  [[nodiscard]] TensorOptions pinned_memory(bool value) const {
    TensorOptions out = *this;
    out.pinned_ = value;
    return out;
  }

  /// Unset options default to the default dtype, the CPU, and no gradient.
  ScalarType dtype() const { return has_dtype_ ? dtype_ : get_default_dtype(); }
  Device device() const { return has_device_ ? device_ : Device(kCPU); }
  bool requires_grad() const { return requires_grad_; }
  bool pinned_memory() const { return pinned_; }
  bool has_dtype() const { return has_dtype_; }
  bool has_device() const { return has_device_; }
  optional<ScalarType> dtype_opt() const { return has_dtype_ ? optional(dtype_) : nullopt; }
  optional<Device> device_opt() const { return has_device_ ? optional(device_) : nullopt; }

 private:
  Device device_;
  ScalarType dtype_ = kFloat;
  bool has_dtype_ = false, has_device_ = false, requires_grad_ = false, pinned_ = false;
};

inline TensorOptions dtype(ScalarType type) { return TensorOptions(type); }
inline TensorOptions device(Device device) { return TensorOptions(device); }
inline TensorOptions device(DeviceType type, DeviceIndex index = -1) {
  return TensorOptions(Device(type, index));
}
inline TensorOptions layout(Layout) { return {}; }
inline TensorOptions requires_grad(bool value = true) { return TensorOptions().requires_grad(value); }

}  // namespace tandem
