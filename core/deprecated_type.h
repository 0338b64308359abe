// DeprecatedTypeProperties: the type of a tensor as LibTorch had it before it had dtypes.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

/// The result of Tensor::type().
class DeprecatedTypeProperties {
 public:
  DeprecatedTypeProperties(DeviceType device, ScalarType type, Layout layout = kStrided)
      : device_(device), type_(type), layout_(layout) {}
  ScalarType scalarType() const { return type_; }
  TypeMeta typeMeta() const { return TypeMeta(type_); }
  DeviceType device_type() const { return device_; }
  Layout layout() const { return layout_; }
  bool is_cuda() const { return device_ == kCUDA; }
  bool is_sparse() const { return layout_ == kSparse; }
  bool is_sparse_csr() const { return layout_ == kSparseCsr; }
  std::string toString() const;  ///< "CPUFloatType", "SparseCPUFloatType"
  TensorOptions options(DeviceIndex index = -1) const {
    return TensorOptions(type_).device(device_, index).layout(layout_);
  }
  /// Throws Error unless the device has the type's.
  TensorOptions options(optional<Device> device) const {
    if (!device) return options();
    check(device->type() == device_, "options: expected a device of type ", Device(device_), ", got ", *device);
    return options(device->index());
  }
  template <class Backend>
  DeprecatedTypeProperties toBackend(Backend backend) const {
    return {backendToDeviceType(backend), type_, layout_from_backend(backend)};
  }
  DeprecatedTypeProperties toScalarType(ScalarType type) const { return {device_, type, layout_}; }
  DeprecatedTypeProperties cpu() const { return {kCPU, type_}; }
  DeprecatedTypeProperties cuda() const { return {kCUDA, type_}; }
  operator TensorOptions() const { return options(); }
  friend bool operator==(const DeprecatedTypeProperties&, const DeprecatedTypeProperties&) = default;
  friend std::ostream& operator<<(std::ostream& out, const DeprecatedTypeProperties& type) {
    return out << type.toString();
  }

 private:
  DeviceType device_;
  ScalarType type_;
  Layout layout_;
};

}  // namespace tandem
