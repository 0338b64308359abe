// Trains a network in ways that must lead to the same bits, or to the same numbers within a tolerance.
#pragma once
#include "tandem/tests/networks/training.h"

namespace tandem::testing {

/// What differs from `plain`, the outcome of training with `dtype`: a line each, empty if nothing does.
Words differences(const DescriptionPtr& description, ScalarType dtype, const Outcome& plain);

/// Training on a device, eager and with captured steps, on a GPU of fused kernels, whose bits must be equal. Lines:
/// "skipped: REASON"; or "captured CALLS KERNELS" (FusionCounts) or "uncaptured REASON", and "differs MESSAGE".
Words on_device(const DescriptionPtr& description, ScalarType dtype, Device device);

}  // namespace tandem::testing
