// A backend is one table of kernels. Each family of kernels is a struct with its own header in this folder;
// operations include the headers of the kernels they call. A backend that leaves out a family or a kernel
// does not compile.
#pragma once
#include <atomic>

#include "tandem/core/device.h"
#include "tandem/core/tensor.h"

namespace tandem {

struct RuntimeKernels;
struct UnaryKernels;
struct BinaryKernels;
struct ComparisonKernels;
struct TernaryKernels;
struct CopyKernels;
struct ReduceKernels;
struct ScanKernels;
struct SoftmaxKernels;
struct SortKernels;
struct IndexKernels;
struct LinalgKernels;
struct DecompositionKernels;
struct FftKernels;
struct SpecialKernels;
struct RandomKernels;
struct ConvKernels;
struct PoolKernels;
struct LossKernels;
struct RecurrentKernels;
struct BatchNormKernels;
struct OptimKernels;
struct CaptureKernels;
struct DataKernels;

struct Backend {
  const RuntimeKernels& runtime;
  const UnaryKernels& unary;
  const BinaryKernels& binary;
  const ComparisonKernels& comparison;
  const TernaryKernels& ternary;
  const CopyKernels& copy;
  const ReduceKernels& reduce;
  const ScanKernels& scan;
  const SoftmaxKernels& softmax;
  const SortKernels& sort;
  const IndexKernels& index;
  const LinalgKernels& linalg;
  const DecompositionKernels& decomposition;
  const FftKernels& fft;
  const SpecialKernels& special;
  const RandomKernels& random;
  const ConvKernels& conv;
  const PoolKernels& pool;
  const LossKernels& loss;
  const RecurrentKernels& recurrent;
  const BatchNormKernels& batch_norm;
  const OptimKernels& optim;
  const CaptureKernels& capture;
  const DataKernels& data;
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
/// The table for a device type. Throws Error with cuda_reason().
inline const Backend& backend(DeviceType type) {
  if (type == DeviceType::CPU) [[likely]]
    return cpu_backend();
  const Backend* cuda = cuda_backend();
  if (cuda == nullptr) no_cuda();
  return *cuda;
}
inline const Backend& backend(Device device) { return backend(device.type()); }
inline const Backend& backend(const Tensor& t) { return backend(t.device().type()); }

}  // namespace tandem
