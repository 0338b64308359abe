// Byte copies between the host and CUDA devices.
#pragma once
#include <cstddef>

#include "tandem/core/backend/runtime.h"
#include "tandem/core/device.h"

namespace tandem::cuda_impl {

class Context;

/// Implements RuntimeKernels::copy_bytes. A copy between devices is ordered with the current streams of both.
/// It uses peer access where the GPUs support it, otherwise the driver stages it; the host does not wait.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes, bool non_blocking);

/// Writes `bytes` bytes from the host's memory, which is read before this returns, by kernels that have them as
/// parameters: a recorded graph contains them.
void write_constant(Context& c, void* to, const void* from, std::size_t bytes);

}  // namespace tandem::cuda_impl
