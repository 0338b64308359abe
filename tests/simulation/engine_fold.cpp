// The reductions of the simulated engine.
#include <cstring>

#include "tandem/parallel/distributed/reduce_loops.h"
#include "tandem/tests/simulation/engine.h"

namespace tandem::simulation {

// In rank order; `order` is that in which the parts came.
void SimulatedEngine::fold(void* data, std::size_t count, ScalarType dtype, ReduceOp op,
                           const std::vector<char>& received, const std::vector<int>& order) const {
  const auto function = distributed::reduce_function(dtype, op);
  if (function == nullptr) throw std::runtime_error("simulated: the dtype does not have this reduction");
  const auto bytes = count * static_cast<std::size_t>(item_size(dtype));
  if (world_.bug == Bug::kArrivalOrder) {
    for (const int peer : order) function(data, data, received.data() + static_cast<std::size_t>(peer) * bytes, count);
    return;
  }
  if (bytes == 0) return;
  std::memcpy(data, received.data(), bytes);
  for (std::size_t peer = 1; peer < ranks(); ++peer) function(data, data, received.data() + peer * bytes, count);
}

}  // namespace tandem::simulation
