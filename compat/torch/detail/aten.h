// Types and functions of ATen and c10 that Tandem has under other names or not at all: at::Backend, at::CPU(dtype),
// c10::IntList, torch::utils::flatten_dense_tensors and others.
#pragma once
#include <complex>
#include <optional>
#include <ostream>
#include <vector>

#include "tandem/core/memory_format.h"
#include "tandem/tandem.h"

namespace torch {

// LibTorch's backends, each with its device type and its layout.
// clang-format off
#define TANDEM_COMPAT_BACKENDS(_) \
  _(CPU, CPU, Strided) _(CUDA, CUDA, Strided) _(HIP, HIP, Strided) _(VE, VE, Strided) _(FPGA, FPGA, Strided) \
  _(IPU, IPU, Strided) _(XPU, XPU, Strided) _(SparseCPU, CPU, Sparse) _(SparseCUDA, CUDA, Sparse) \
  _(SparseCsrCPU, CPU, SparseCsr) _(SparseCsrCUDA, CUDA, SparseCsr) _(SparseCsrMPS, MPS, SparseCsr) \
  _(SparseMPS, MPS, Sparse) _(SparseHIP, HIP, Sparse) _(SparseVE, VE, Sparse) _(SparseXPU, XPU, Sparse) \
  _(SparsePrivateUse1, PrivateUse1, Sparse) _(SparseCsrHIP, HIP, SparseCsr) _(SparseCsrVE, VE, SparseCsr) \
  _(SparseCsrXPU, XPU, SparseCsr) _(SparseCsrPrivateUse1, PrivateUse1, SparseCsr) _(MAIA, MAIA, Strided) \
  _(XLA, XLA, Strided) _(Vulkan, Vulkan, Strided) _(Metal, Metal, Strided) _(Meta, Meta, Strided) \
  _(QuantizedCPU, CPU, Strided) _(QuantizedCUDA, CUDA, Strided) _(QuantizedXPU, XPU, Strided) \
  _(QuantizedPrivateUse1, PrivateUse1, Strided) _(Undefined, CPU, Strided) _(MkldnnCPU, CPU, Mkldnn) \
  _(MPS, MPS, Strided) _(HPU, HPU, Strided) _(Lazy, Lazy, Strided) _(MTIA, MTIA, Strided) \
  _(PrivateUse1, PrivateUse1, Strided)
// clang-format on
#define TANDEM_COMPAT_NAME(name, device, layout) name,
#define TANDEM_COMPAT_PARTS(name, device, layout) {#name, tandem::DeviceType::device, tandem::Layout::layout},
/// A device type with a layout, as LibTorch's older interfaces name it. Tensors are of CPU and CUDA only.
enum class Backend { TANDEM_COMPAT_BACKENDS(TANDEM_COMPAT_NAME) NumOptions };
namespace detail {
struct BackendParts {
  const char* name;
  tandem::DeviceType device;
  tandem::Layout layout;
};
/// Throws Error for Undefined and for numbers of no backend.
inline const BackendParts& parts_of(Backend backend) {
  static constexpr BackendParts all[] = {TANDEM_COMPAT_BACKENDS(TANDEM_COMPAT_PARTS)};
  tandem::check(backend >= Backend::CPU && backend < Backend::NumOptions && backend != Backend::Undefined,
                "the backend is undefined");
  return all[static_cast<int>(backend)];
}
#undef TANDEM_COMPAT_PARTS
#undef TANDEM_COMPAT_NAME
#undef TANDEM_COMPAT_BACKENDS
}  // namespace detail
inline tandem::DeviceType backendToDeviceType(Backend backend) { return detail::parts_of(backend).device; }
inline tandem::Layout layout_from_backend(Backend backend) { return detail::parts_of(backend).layout; }
inline bool isSparse(Backend backend) { return layout_from_backend(backend) == tandem::kSparse; }
inline bool isSparseCsr(Backend backend) { return layout_from_backend(backend) == tandem::kSparseCsr; }
inline const char* toString(Backend backend) {
  if (backend == Backend::Undefined) return "UNKNOWN_BACKEND";
  return backend == Backend::PrivateUse1 ? "PrivateUseOne" : detail::parts_of(backend).name;
}
inline std::ostream& operator<<(std::ostream& out, Backend backend) { return out << toString(backend); }

/// The type of the real and the imaginary part; T itself if it is real.
template <class T>
struct scalar_value_type {
  using type = T;
};
template <class T>
struct scalar_value_type<std::complex<T>> {
  using type = T;
};

using IntList = tandem::IntArrayRef;
template <class T>
using IListRef = tandem::ArrayRef<T>;
using ITensorList = IListRef<tandem::Tensor>;

/// The strides of a new tensor with these sizes, [N, C, H, W] and [N, C, D, H, W], in channels-last order.
inline std::vector<int64_t> get_channels_last_strides_2d(tandem::IntArrayRef sizes) {
  const auto strides = tandem::channels_last_strides(sizes, tandem::MemoryFormat::ChannelsLast);
  return {strides.begin(), strides.end()};
}
inline std::vector<int64_t> get_channels_last_strides_3d(tandem::IntArrayRef sizes) {
  const auto strides = tandem::channels_last_strides(sizes, tandem::MemoryFormat::ChannelsLast3d);
  return {strides.begin(), strides.end()};
}

inline tandem::ScalarType dtype_or_default(std::optional<tandem::ScalarType> dtype) {
  return dtype.value_or(tandem::get_default_dtype());
}
inline tandem::Layout layout_or_default(std::optional<tandem::Layout> layout) {
  return layout.value_or(tandem::kStrided);
}
inline tandem::Device device_or_default(std::optional<tandem::Device> device) { return device.value_or(tandem::kCPU); }
inline bool pinned_memory_or_default(std::optional<bool> pinned) { return pinned.value_or(false); }

/// Whether both are undefined, or both are defined and equal.
inline bool equal_if_defined(const tandem::Tensor& a, const tandem::Tensor& b) {
  return a.defined() == b.defined() && (!a.defined() || a.equal(b));
}

namespace utils {
using tandem::flatten_dense_tensors;
using tandem::unflatten_dense_tensors;
}  // namespace utils

namespace autograd {
/// A leaf with the memory of `data`. Undefined if `data` is.
inline tandem::Tensor make_variable(const tandem::Tensor& data, bool requires_grad = false,
                                    bool /*allow_tensor_metadata_change*/ = true) {
  return data.defined() ? data.detach().set_requires_grad(requires_grad) : data;
}
}  // namespace autograd

}  // namespace torch

namespace at {
inline tandem::DeprecatedTypeProperties getDeprecatedTypeProperties(torch::Backend backend, tandem::ScalarType type) {
  return {torch::backendToDeviceType(backend), type, torch::layout_from_backend(backend)};
}
inline tandem::DeprecatedTypeProperties CPU(tandem::ScalarType type) { return {tandem::kCPU, type}; }
inline tandem::DeprecatedTypeProperties CUDA(tandem::ScalarType type) { return {tandem::kCUDA, type}; }
namespace native {
using tandem::is_nonzero;
}
}  // namespace at
