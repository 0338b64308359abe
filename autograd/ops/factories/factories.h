// Functions that create tensors. `options` sets the dtype (default: the default dtype), the device (default:
// the current CPU) and requires_grad. Throws Error for negative or overflowing sizes and for a device that
// does not exist.
#pragma once
#include <concepts>
#include <memory>
#include <type_traits>

#include "tandem/core/tensor.h"

namespace tandem {

namespace detail {
/// An end of linspace or logspace. Throws Error for a tensor that is not 0-dim.
inline const Scalar& end_of(const char*, const Scalar& number) { return number; }
Scalar end_of(const char* operation, const Tensor& number);
}  // namespace detail

/// Uninitialised.
Tensor empty(IntArrayRef size, const TensorOptions& options = {});
Tensor zeros(IntArrayRef size, const TensorOptions& options = {});
Tensor ones(IntArrayRef size, const TensorOptions& options = {});
/// Default dtype: the value's (default dtype, int64 or bool).
Tensor full(IntArrayRef size, const Scalar& value, const TensorOptions& options = {});
/// start, start + step, … up to but excluding end; int64 when all numbers are integers and no dtype is given.
Tensor arange(const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const TensorOptions& options = {});
Tensor arange(const Scalar& start, const Scalar& end, const Scalar& step, const TensorOptions& options = {});
/// `steps` numbers from start to end inclusive: evenly spaced, or as powers base^start … base^end.
Tensor linspace(const Scalar& start, const Scalar& end, int64_t steps, const TensorOptions& options = {});
Tensor logspace(const Scalar& start, const Scalar& end, int64_t steps, double base = 10,
                const TensorOptions& options = {});
// One or both ends may be 0-dim tensors, read as numbers. Throws Error for other tensors.
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>) Tensor
    linspace(const Start& start, const End& end, int64_t steps, const TensorOptions& options = {}) {
  return linspace(detail::end_of("linspace", start), detail::end_of("linspace", end), steps, options);
}
template <class Start, class End>
requires(std::same_as<Start, Tensor> || std::same_as<End, Tensor>) Tensor
    logspace(const Start& start, const End& end, int64_t steps, double base = 10, const TensorOptions& options = {}) {
  return logspace(detail::end_of("logspace", start), detail::end_of("logspace", end), steps, base, options);
}
/// Ones on the diagonal, zeros elsewhere; [n, n] or [n, m].
Tensor eye(int64_t n, const TensorOptions& options = {});
Tensor eye(int64_t n, int64_t m, const TensorOptions& options = {});

Tensor empty_like(const Tensor& self, const TensorOptions& options = {});
Tensor zeros_like(const Tensor& self, const TensorOptions& options = {});
Tensor ones_like(const Tensor& self, const TensorOptions& options = {});
Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options = {});

// The same with LibTorch's last parameter, which overrides the format in `options`.
inline Tensor empty(IntArrayRef size, const TensorOptions& options, optional<MemoryFormat> format) {
  return empty(size, options.merge_memory_format(format));
}
inline Tensor empty_like(const Tensor& self, const TensorOptions& options, optional<MemoryFormat> format) {
  return empty_like(self, options.merge_memory_format(format));
}
inline Tensor zeros_like(const Tensor& self, const TensorOptions& options, optional<MemoryFormat> format) {
  return zeros_like(self, options.merge_memory_format(format));
}
inline Tensor ones_like(const Tensor& self, const TensorOptions& options, optional<MemoryFormat> format) {
  return ones_like(self, options.merge_memory_format(format));
}
inline Tensor full_like(const Tensor& self, const Scalar& value, const TensorOptions& options,
                        optional<MemoryFormat> format) {
  return full_like(self, value, options.merge_memory_format(format));
}

namespace detail {
/// The second argument of `deleter`, which frees it. If no tensor is made, it is freed without a call.
using BorrowContext = std::unique_ptr<void, void (*)(void*)>;
template <class T>
BorrowContext borrow_context(T value) {
  return {new T(std::move(value)), [](void* context) { delete static_cast<T*>(context); }};
}
/// The first element is at data + offset, in elements; offset >= 0.
Tensor borrow(void* data, IntArrayRef sizes, IntArrayRef strides, DeleterFn deleter, BorrowContext context,
              const TensorOptions& options, int64_t offset = 0);
}  // namespace detail

/// A tensor on the caller's memory, row-major or with `strides` (in elements). `deleter(data)` runs when the
/// last reference is released. The memory must be on the device in `options`.
Tensor from_blob(void* data, IntArrayRef sizes, const TensorOptions& options = {});
Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides, const TensorOptions& options = {});
/// deleter: any callable that takes a void*.
template <class Deleter>
requires std::is_invocable_v<Deleter&, void*> Tensor from_blob(void* data, IntArrayRef sizes, IntArrayRef strides,
                                                               Deleter deleter, const TensorOptions& options = {}) {
  return detail::borrow(
      data, sizes, strides,
      [](void* block, void* context) {
        const std::unique_ptr<Deleter> function(static_cast<Deleter*>(context));
        (*function)(block);
      },
      detail::borrow_context(std::move(deleter)), options);
}
template <class Deleter>
requires std::is_invocable_v<Deleter&, void*> Tensor from_blob(void* data, IntArrayRef sizes, Deleter deleter,
                                                               const TensorOptions& options = {}) {
  return from_blob(data, sizes, contiguous_strides(sizes), std::move(deleter), options);
}

namespace autograd {
/// `given`, with unset options taken from `self`.
TensorOptions merge_options(const TensorOptions& given, const Tensor& self);
/// The same for a tensor with the sizes of `self`: also keeps its layout.
TensorOptions options_like(const TensorOptions& given, const Tensor& self);
}  // namespace autograd

}  // namespace tandem
