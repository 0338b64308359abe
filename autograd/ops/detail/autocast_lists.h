// How operations take part in autocast: each begins with one of these calls, which names its list. Internal to their
// sources.
//
//   if (autocast::is_on(self))
//     return autocast::lower_precision([](const Tensor& a, const Tensor& b) { return mm(a, b); }, self, other);
#pragma once
#include <initializer_list>

#include "tandem/autograd/autocast.h"

namespace tandem::autocast {

/// Whether autocast is enabled for the tensor's device.
inline bool is_on(const Tensor& t) {
  return detail::state.enabled != 0 && t.defined() &&
         (detail::state.enabled >> static_cast<unsigned>(t.device().type()) & 1u) != 0;
}
/// The same for an operation that is only in the list for one type of devices.
inline bool is_on_cuda(const Tensor& t) { return is_on(t) && t.is_cuda(); }
inline bool is_on_cpu(const Tensor& t) { return is_on(t) && !t.is_cuda(); }

/// The dtype of autocast if all tensors have it, otherwise float32; what autocast leaves alone does not count.
ScalarType widest(std::initializer_list<const Tensor*> tensors, DeviceType device);

/// f of the tensors in `type`, without autocast.
template <class F, class... Tensors>
auto in_type(ScalarType type, F&& f, const Tensor& first, const Tensors&... others) {
  const DeviceType device = first.device().type();
  const Tensor converted = cached_cast(type, first, device);
  return [&](const auto&... rest) {
    const detail::Off off(device);
    return f(converted, rest...);
  }(cached_cast(type, others, device)...);
}
/// The operations that compute in autocast's dtype.
template <class F, class... Tensors>
auto lower_precision(F&& f, const Tensor& first, const Tensors&... others) {
  return in_type(get_autocast_dtype(first.device().type()), static_cast<F&&>(f), first, others...);
}
/// The operations that compute in float32.
template <class F, class... Tensors>
auto full_precision(F&& f, const Tensor& first, const Tensors&... others) {
  return in_type(kFloat, static_cast<F&&>(f), first, others...);
}
/// The operations that compute in the widest dtype of their arguments.
template <class F, class... Tensors>
auto promoted(F&& f, const Tensor& first, const Tensors&... others) {
  return in_type(widest({&first, &others...}, first.device().type()), static_cast<F&&>(f), first, others...);
}

/// f of the tensors as they are, without autocast: an operation in no list that is composed of others in lists.
template <class F, class... Tensors>
auto unchanged(F&& f, const Tensor& first, const Tensors&... others) {
  const detail::Off off(first.device().type());
  return f(first, others...);
}
/// In CUDA's list of autocast's dtype, and unchanged on the CPU.
template <class F, class... Tensors>
auto lower_precision_on_cuda(F&& f, const Tensor& first, const Tensors&... others) {
  return first.is_cuda() ? lower_precision(static_cast<F&&>(f), first, others...)
                         : unchanged(static_cast<F&&>(f), first, others...);
}
/// In CUDA's list of the widest dtype, and unchanged on the CPU.
template <class F, class... Tensors>
auto promoted_on_cuda(F&& f, const Tensor& first, const Tensors&... others) {
  return first.is_cuda() ? promoted(static_cast<F&&>(f), first, others...)
                         : unchanged(static_cast<F&&>(f), first, others...);
}

}  // namespace tandem::autocast
