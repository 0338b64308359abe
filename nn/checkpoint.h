// Activation checkpointing of containers; see autograd/checkpoint.h.
#pragma once
#include "tandem/autograd/checkpoint.h"
#include "tandem/nn/sequential.h"

namespace tandem::utils {

/// The modules of `layers` in `segments` parts of about equal length, each but the last one checkpointed, like
/// PyTorch's torch.utils.checkpoint.checkpoint_sequential. Each module takes and returns one tensor. Throws Error
/// unless 1 <= segments <= the number of modules.
Tensor checkpoint_sequential(const nn::Sequential& layers, int64_t segments, const Tensor& input);

}  // namespace tandem::utils
