// Kernel calls as what a queue holds, and back.
#pragma once
#include "tandem/cuda/fusion/queue.h"

namespace tandem::cuda_impl {

/// Whether the arguments fit the formula of `to`; then `to` is the call, without strides.
bool read_call(QueuedCall& to, const KernelCall& call, Device device);

/// Calls the kernel itself.
void run_alone(const QueuedCall& call);

/// The same memory with other sizes and strides; not a use of it.
Tensor borrowed(const Tensor& t, IntArrayRef sizes, IntArrayRef strides);

/// The type that the call computes in: its inputs' type, float for half types.
ScalarType computed_in(const QueuedCall& call);

}  // namespace tandem::cuda_impl
