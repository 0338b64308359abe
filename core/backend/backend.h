// A backend is one table of kernels. Each family of kernels is a struct with its own header in this folder;
// operations include the headers of the kernels they call. A backend that leaves out a family or a kernel
// does not compile.
#pragma once
#include <atomic>

#include "tandem/core/device.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// The families: FAMILY(kernels, member of Backend). Each backend defines a table MEMBER_kernels for every one.
#define TANDEM_KERNEL_FAMILIES(FAMILY)        \
  FAMILY(RuntimeKernels, runtime)             \
  FAMILY(UnaryKernels, unary)                 \
  FAMILY(BinaryKernels, binary)               \
  FAMILY(ComparisonKernels, comparison)       \
  FAMILY(TernaryKernels, ternary)             \
  FAMILY(CopyKernels, copy)                   \
  FAMILY(ReduceKernels, reduce)               \
  FAMILY(ScanKernels, scan)                   \
  FAMILY(SoftmaxKernels, softmax)             \
  FAMILY(AttentionKernels, attention)         \
  FAMILY(SortKernels, sort)                   \
  FAMILY(IndexKernels, index)                 \
  FAMILY(LinalgKernels, linalg)               \
  FAMILY(DecompositionKernels, decomposition) \
  FAMILY(FftKernels, fft)                     \
  FAMILY(SpecialKernels, special)             \
  FAMILY(RandomKernels, random)               \
  FAMILY(ConvKernels, conv)                   \
  FAMILY(PoolKernels, pool)                   \
  FAMILY(LossKernels, loss)                   \
  FAMILY(RecurrentKernels, recurrent)         \
  FAMILY(BatchNormKernels, batch_norm)        \
  FAMILY(LayerNormKernels, layer_norm)        \
  FAMILY(OptimKernels, optim)                 \
  FAMILY(CaptureKernels, capture)             \
  FAMILY(DataKernels, data)

struct Backend {
#define TANDEM_FAMILY(Kernels, name) const struct Kernels& name;
  TANDEM_KERNEL_FAMILIES(TANDEM_FAMILY)
#undef TANDEM_FAMILY
};

namespace detail {
extern std::atomic<const Backend*> chosen_cpu_backend;  // nullptr before the first call of cpu_backend()
const Backend& choose_cpu_backend();
}  // namespace detail
/// The CPU table. A build for several instruction sets chooses one in the first call, as the environment
/// variable TANDEM_CPU names it, or the best one that the processor has. Throws Error if that is impossible.
inline const Backend& cpu_backend() {
  const Backend* chosen = detail::chosen_cpu_backend.load(std::memory_order_acquire);
  return chosen != nullptr ? *chosen : detail::choose_cpu_backend();
}
/// The CUDA table. nullptr in a build without CUDA, or if no device is usable: cuda_reason() says why.
const Backend* cuda_backend();
/// "built without CUDA", or "no CUDA device: <reason>".
const char* cuda_reason();

[[noreturn]] void no_cuda();
[[noreturn]] void no_tensors_on(DeviceType type);
/// The table for a device type. Throws Error with cuda_reason(), NotImplementedError for a type without tensors.
inline const Backend& backend(DeviceType type) {
  if (type == DeviceType::CPU) [[likely]]
    return cpu_backend();
  if (type != DeviceType::CUDA) no_tensors_on(type);
  const Backend* cuda = cuda_backend();
  if (cuda == nullptr) no_cuda();
  return *cuda;
}
inline const Backend& backend(Device device) { return backend(device.type()); }
inline const Backend& backend(const Tensor& t) { return backend(t.device().type()); }

}  // namespace tandem
