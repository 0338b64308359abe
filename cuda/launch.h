// Kernel launches. Plain host functions with their own tests compute the geometry.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/cuda/context.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

struct Grid {
  int64_t blocks = 0;  ///< 0: nothing to launch
  int threads = 256;
  std::size_t shared_bytes = 0;
};

/// One thread per `per_thread` of n items, with as many blocks as needed.
inline Grid grid_for(int64_t n, int per_thread = 1, int threads = 256) {
  return {ceil_div(n, int64_t{threads} * per_thread), threads};
}

namespace detail {
bool may_start_in_recording(Context& c, const char* operation);
/// Lets `kernel` have more dynamic shared memory than a kernel gets unasked.
cudaError_t allow_shared(Context& c, const void* kernel, std::size_t bytes);
inline constexpr std::size_t kDefaultShared = 48 * 1024;
void started(Context& c, const char* operation, cudaError_t status, const Grid& grid);
}  // namespace detail

/// While only a captured step's numbers are being collected: records the empty launch and returns false.
inline bool may_start(Context& c, const char* operation) {
  return c.recording == nullptr || detail::may_start_in_recording(c, operation);
}

/// Launches `kernel` on the context's stream. `operation` is a string literal, for messages.
template <class... Parameters, class... Arguments>
void launch(const char* operation, Context& c, const Grid& grid, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (grid.blocks == 0) return;
  if (!may_start(c, operation)) return;
  const LaunchShape shape{c.stream(), dim3(static_cast<unsigned>(grid.blocks)),
                          dim3(static_cast<unsigned>(grid.threads)), grid.shared_bytes};
  const auto start = [&](Parameters... values) { return enqueue(operation, shape, kernel, values...); };
  cudaError_t status = cudaSuccess;
  if (grid.shared_bytes > detail::kDefaultShared)
    status = detail::allow_shared(c, reinterpret_cast<const void*>(kernel), grid.shared_bytes);
  if (status == cudaSuccess) status = start(static_cast<Parameters>(arguments)...);
  detail::started(c, operation, status, grid);
}

}  // namespace tandem::cuda_impl
