// DLPack under LibTorch's names (tandem/autograd/dlpack.h).
#pragma once
#include <ATen/dlpack.h>
#include <torch/torch.h>

namespace at {

inline ScalarType toScalarType(const DLDataType& dtype) {
  return tandem::detail::dtype_of_dlpack({dtype.code, dtype.bits}, dtype.lanes);
}
inline DLDataType getDLDataType(const Tensor& t) {
  const auto type = tandem::detail::dlpack_type(t.dtype());
  return {type.code, type.bits, 1};
}
inline DLDevice torchDeviceToDLDevice(at::Device device) {
  return device.is_cpu() ? DLDevice{kDLCPU, 0} : DLDevice{kDLCUDA, device.has_index() ? device.index() : 0};
}
inline DLDevice getDLContext(const Tensor& tensor, const int64_t& device_id) {
  return {tensor.device().is_cpu() ? kDLCPU : kDLCUDA, static_cast<int32_t>(device_id)};
}

inline Device dlDeviceToTorchDevice(DLDeviceType type, c10::DeviceIndex index, void* = nullptr) {
  if (type == kDLCPU || type == kDLCUDAHost) return Device(kCPU);
  tandem::check(type == kDLCUDA || type == kDLCUDAManaged, "dlDeviceToTorchDevice: no device of type ",
                static_cast<int>(type));
  return Device(kCUDA, index);
}
/// `data`, or a copy if it has to be on another device or a copy is wanted.
/// Throws Error if one is needed but not allowed.
inline Tensor maybeCopyTensor(const Tensor& data, std::optional<DLDevice> optional_dl_device,
                              std::optional<bool> copy) {
  const bool force = copy.value_or(false);
  if (optional_dl_device) {
    const Device device = dlDeviceToTorchDevice(optional_dl_device->device_type,
                                                static_cast<c10::DeviceIndex>(optional_dl_device->device_id));
    if (device.type() != data.device().type() || (device.has_index() && device != data.device())) {
      tandem::check(copy.value_or(true), "maybeCopyTensor: the tensor is on ", data.device(),
                    " and cannot be moved to ", device, " without a copy");
      return data.to(device);
    }
  }
  return force ? data.clone() : data;
}

inline DLManagedTensor* toDLPack(const Tensor& src) { return tandem::to_dlpack(src); }
inline DLManagedTensorVersioned* toDLPackVersioned(const Tensor& src) { return tandem::to_dlpack_versioned(src); }
/// The receiver must not write to the memory.
inline DLManagedTensorVersioned* toDLPackVersionedReadOnly(const Tensor& src) {
  return tandem::to_dlpack_versioned(src, true);
}
/// Describes `src`, which must outlive the use of `out`.
inline void toDLPackNonOwning(const Tensor& src, DLTensor* out, bool = false) {
  *out = {src.data_ptr(),
          torchDeviceToDLDevice(src.device()),
          static_cast<int32_t>(src.dim()),
          getDLDataType(src),
          const_cast<int64_t*>(src.sizes().data()),
          const_cast<int64_t*>(src.strides().data()),
          0};
}
inline Tensor fromDLPack(DLManagedTensor* src, std::function<void(void*)> deleter = {}) {
  return tandem::from_dlpack(src, std::move(deleter));
}
inline Tensor fromDLPackVersioned(DLManagedTensorVersioned* src, std::function<void(void*)> deleter = {}) {
  return tandem::from_dlpack(src, std::move(deleter));
}

/// Names and functions by the struct.
template <class T>
struct DLPackTraits {};
template <>
struct DLPackTraits<DLManagedTensor> {
  inline static constexpr const char *capsule = "dltensor", *used = "used_dltensor";
  inline static auto toDLPack = at::toDLPack;
  inline static auto fromDLPack = at::fromDLPack;
};
template <>
struct DLPackTraits<DLManagedTensorVersioned> {
  inline static constexpr const char *capsule = "dltensor_versioned", *used = "used_dltensor_versioned";
  inline static auto toDLPack = at::toDLPackVersioned;
  inline static auto fromDLPack = at::fromDLPackVersioned;
};

}  // namespace at
