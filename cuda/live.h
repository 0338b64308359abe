// Numbers of a kernel that stay live in a captured step: it is replayed with other random numbers and other
// learning rates each time, so its kernels read them from device memory, which is rewritten before a replay
// (cuda/capture.h); outside of a capture they are parameters.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/host_device.h"
#include "tandem/cuda/context.h"

namespace tandem::cuda_impl {

/// A kernel parameter; T is trivially copyable.
template <class T>
struct Live {
  T value;
  const T* live = nullptr;  ///< on the device
  TANDEM_HD T now() const { return live == nullptr ? value : *live; }
};

/// What a random kernel draws from: a kernel parameter.
struct LiveDraw {
  uint64_t seed, offset;
  const Generator::Draw* live = nullptr;  ///< on the device; then `offset` counts from live->offset

  TANDEM_HD Generator::Draw now() const {
    return live == nullptr ? Generator::Draw{seed, offset}
                           : Generator::Draw{live->seed, live->offset + offset};
  }
};

/// `draw` as kernels of this context have to see it.
LiveDraw live_draw(Context& c, const Generator::Draw& draw);

}  // namespace tandem::cuda_impl
