// Launches. The geometry is computed by plain host functions, which have their tests.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/cuda/context.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

struct Grid {
  int64_t blocks = 0;  ///< 0: nothing is launched
  int threads = 256;
  std::size_t shared_bytes = 0;
};

/// One thread for `per_thread` of n items, as many blocks as it takes (for kernels without a loop).
inline Grid grid_for(int64_t n, int per_thread = 1, int threads = 256) {
  return {ceil_div(n, int64_t{threads} * per_thread), threads};
}
/// At most so many blocks as the card runs at once, for kernels that stride over the grid.
inline Grid strided_grid(const Card& card, int64_t n, int per_thread = 1, int threads = 256) {
  const int64_t resident =
      int64_t{card.multiprocessors} * std::max(1, card.threads_per_multiprocessor / threads);
  return {std::min(ceil_div(n, int64_t{threads} * per_thread), resident), threads};
}

namespace detail {
bool may_start_in_recording(Context& c, const char* operation);
void started(Context& c, const char* operation, cudaError_t status, const Grid& grid);
}  // namespace detail

/// While a captured step's numbers are taken, nothing is to be started: notes it and gives false.
inline bool may_start(Context& c, const char* operation) {
  return c.recording == nullptr || detail::may_start_in_recording(c, operation);
}

/// Starts `kernel` in the context's stream. `operation`: a string literal, for messages.
template <class... Parameters, class... Arguments>
void launch(const char* operation, Context& c, const Grid& grid, void (*kernel)(Parameters...),
            Arguments&&... arguments) {
  if (grid.blocks == 0) return;
  if (!may_start(c, operation)) return;
  const LaunchShape shape{c.stream(), dim3(static_cast<unsigned>(grid.blocks)),
                          dim3(static_cast<unsigned>(grid.threads)), grid.shared_bytes};
  const auto start = [&](Parameters... values) { return enqueue(operation, shape, kernel, values...); };
  detail::started(c, operation, start(static_cast<Parameters>(arguments)...), grid);
}

}  // namespace tandem::cuda_impl
