// How operations take part in autocast: each begins with one of these calls, which names its list, and calls itself
// again with converted tensors. Internal to their sources.
//
//   if (const auto to = autocast::lower_precision(self)) return mm(to(self), to(other));
#pragma once
#include <initializer_list>
#include <utility>

#include "tandem/autograd/autocast.h"
#include "tandem/core/reproducible.h"

namespace tandem::autocast {

/// Whether autocast is enabled for the tensor's device.
inline bool is_on(const Tensor& t) {
  return detail::state.enabled != 0 && t.defined() &&
         (detail::state.enabled >> static_cast<unsigned>(t.device().type()) & 1u) != 0;
}
/// Whether the lists for CUDA count for a device: in strict mode CUDA has the CPU's bits, so also its lists.
inline bool has_cuda_lists(DeviceType device) { return device == kCUDA && reproducible() != Reproducible::kStrict; }
/// The same as is_on() for an operation that is only in the list for one type of devices.
inline bool is_on_cuda(const Tensor& t) { return is_on(t) && has_cuda_lists(t.device().type()); }
inline bool is_on_cpu(const Tensor& t) { return is_on(t) && !has_cuda_lists(t.device().type()); }

/// The dtype of autocast if all tensors have it, otherwise float32; what autocast leaves alone does not count.
ScalarType widest(std::initializer_list<const Tensor*> tensors, DeviceType device);

/// True if autocast is on for the operation. Then it converts tensors, and autocast is off as long as it lives.
class [[nodiscard]] Conversion {
 public:
  Conversion() = default;
  Conversion(ScalarType type, const Tensor& first)
      : type_(type), device_(first.device().type()), off_(std::in_place, device_) {}

  explicit operator bool() const { return off_.has_value(); }
  /// `t` in the dtype of the list; `t` itself if it is undefined, an integer, float64 or on a device of another type.
  Tensor operator()(const Tensor& t) const {
    return type_ == ScalarType::Undefined ? t : cached_cast(type_, t, device_);
  }

 private:
  ScalarType type_ = ScalarType::Undefined;  // converts nothing
  DeviceType device_ = kCPU;
  optional<detail::Off> off_;  // none if autocast is not on for the operation
};

/// The operations that compute in autocast's dtype.
inline Conversion lower_precision(const Tensor& first) {
  return is_on(first) ? Conversion(get_autocast_dtype(first.device().type()), first) : Conversion();
}
/// The operations that compute in float32: on all devices, or on those of one type.
inline Conversion full_precision(const Tensor& first) {
  return is_on(first) ? Conversion(kFloat, first) : Conversion();
}
inline Conversion full_precision_on_cuda(const Tensor& first) {
  return is_on_cuda(first) ? Conversion(kFloat, first) : Conversion();
}
inline Conversion full_precision_on_cpu(const Tensor& first) {
  return is_on_cpu(first) ? Conversion(kFloat, first) : Conversion();
}
/// The operations that compute in the widest dtype of their arguments.
template <class... Tensors>
Conversion promoted(const Tensor& first, const Tensors&... others) {
  return is_on(first) ? Conversion(widest({&first, &others...}, first.device().type()), first) : Conversion();
}
template <class... Tensors>
Conversion promoted_on_cuda(const Tensor& first, const Tensors&... others) {
  return is_on_cuda(first) ? Conversion(widest({&first, &others...}, kCUDA), first) : Conversion();
}

/// The operations in no list that are composed of others in lists: they take the tensors as they are.
inline Conversion unchanged_on_cuda(const Tensor& first) {
  return is_on_cuda(first) ? Conversion(ScalarType::Undefined, first) : Conversion();
}
/// In CUDA's list of autocast's dtype, and unchanged on the CPU.
inline Conversion lower_precision_or_unchanged(const Tensor& first) {
  return is_on_cuda(first) ? lower_precision(first)
         : is_on(first)    ? Conversion(ScalarType::Undefined, first)
                           : Conversion();
}
/// In CUDA's list of the widest dtype, and unchanged on the CPU.
inline Conversion promoted_or_unchanged(const Tensor& first, const Tensor& other) {
  return is_on_cuda(first) ? promoted(first, other)
         : is_on(first)    ? Conversion(ScalarType::Undefined, first)
                           : Conversion();
}

}  // namespace tandem::autocast
