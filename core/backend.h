// A backend is one table of kernels. Each family of kernels is a struct of its own in core/kernels/; a family
// or a kernel that a backend leaves out does not compile.
#pragma once
#include "tandem/core/kernels/capture.h"
#include "tandem/core/kernels/conv.h"
#include "tandem/core/kernels/data.h"
#include "tandem/core/kernels/index.h"
#include "tandem/core/kernels/linalg.h"
#include "tandem/core/kernels/loss.h"
#include "tandem/core/kernels/norm.h"
#include "tandem/core/kernels/optim.h"
#include "tandem/core/kernels/pointwise.h"
#include "tandem/core/kernels/pool.h"
#include "tandem/core/kernels/random.h"
#include "tandem/core/kernels/reduce.h"
#include "tandem/core/kernels/runtime.h"
#include "tandem/core/kernels/scan.h"
#include "tandem/core/kernels/softmax.h"
#include "tandem/core/kernels/sort.h"

namespace tandem {

struct Backend {
  const RuntimeKernels& runtime;
  const PointwiseKernels& pointwise;
  const ReduceKernels& reduce;
  const ScanKernels& scan;
  const SoftmaxKernels& softmax;
  const SortKernels& sort;
  const IndexKernels& index;
  const LinalgKernels& linalg;
  const RandomKernels& random;
  const ConvKernels& conv;
  const PoolKernels& pool;
  const LossKernels& loss;
  const NormKernels& norm;
  const OptimKernels& optim;
  const CaptureKernels& capture;
  const DataKernels& data;
};

extern const Backend cpu_backend;
/// The CUDA table; nullptr in a build without CUDA or where no device can be used: cuda_reason() says why.
const Backend* cuda_backend();
/// "built without CUDA", or "no CUDA device: <reason>".
const char* cuda_reason();

[[noreturn]] void no_cuda();
/// The table for a kind of device. Throws Error with cuda_reason().
inline const Backend& backend(DeviceType type) {
  if (type == DeviceType::CPU) [[likely]]
    return cpu_backend;
  const Backend* cuda = cuda_backend();
  if (cuda == nullptr) no_cuda();
  return *cuda;
}
inline const Backend& backend(Device device) { return backend(device.type()); }
inline const Backend& backend(const Tensor& t) { return backend(t.device().type()); }

}  // namespace tandem
