// Copies of bytes between the host and CUDA devices.
#pragma once
#include <cstddef>

#include "tandem/core/backend/runtime.h"
#include "tandem/core/device.h"

namespace tandem::cuda_impl {

/// As RuntimeKernels::copy_bytes. Between devices: in order of the current streams of both, by peer access
/// where the cards have it, else staged by the driver; the host does not wait.
void copy_bytes(void* to, Device to_device, const void* from, Device from_device, std::size_t bytes,
                bool non_blocking);

}  // namespace tandem::cuda_impl
