// The source of the kernel that computes a queue's calls.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "tandem/cuda/fusion/queue.h"

namespace tandem::cuda_impl {

/// Whether two arguments are the same elements of memory, in the same places.
bool same_elements(const QueuedArgument& a, const QueuedArgument& b);

struct FusedSource {
  std::string body;
  std::vector<Tensor> operands;  ///< first what is written, then what is read; at most kFusedOperands
  std::vector<uint64_t> numbers;
  int vector = 1;                             ///< elements in a vector
  const Core* core = nullptr;                 ///< of the calls
  bool from_memory = true, to_memory = true;  ///< whether the core itself reads its source and writes its result
};

/// `sizes`: the queue's dimensions, innermost first. `dead` says whether nobody needs a result. Without a body there is
/// nothing to compute.
FusedSource generate(const std::vector<QueuedCall>& calls, const std::vector<int64_t>& sizes,
                     const std::function<bool(const QueuedArgument&)>& dead);

}  // namespace tandem::cuda_impl
