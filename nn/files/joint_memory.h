// Memory for the tensors of a file: one mapping in huge pages, of which each tensor owns its part. Blocks of the
// allocator would be rounded up to size classes and huge pages, which for tensors of a few MB can take half as much
// memory again.
#pragma once
#include <vector>

#include "tandem/core/dims.h"
#include "tandem/core/tensor.h"

namespace tandem::serialize {

struct TensorKind {
  ScalarType dtype;
  Dims sizes;
};

/// Uninitialised tensors on the CPU with separate storages, aligned to 64 bytes. The pages of a tensor are returned to
/// the system when it is freed, the rest with the last one. Small tensors come from the allocator. Throws Error when
/// there is no memory left.
std::vector<Tensor> empty_together(const std::vector<TensorKind>& kinds);

}  // namespace tandem::serialize
