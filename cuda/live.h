// Numbers that stay variable in a captured step. Each replay has other random numbers and learning rates, so
// the kernels read them from device memory that is rewritten before a replay (cuda/capture.h). Outside a
// capture they are kernel parameters.
#pragma once
#include "tandem/core/generator.h"
#include "tandem/core/host_device.h"
#include "tandem/cuda/context.h"

namespace tandem::cuda_impl {

/// A kernel parameter; T must be trivially copyable.
template <class T>
struct Live {
  T value;
  const T* live = nullptr;  ///< in device memory
  TANDEM_HD T now() const { return live == nullptr ? value : *live; }
};

/// The draw of a random kernel, as a kernel parameter.
struct LiveDraw {
  uint64_t seed, offset;
  const Generator::Draw* live = nullptr;  ///< in device memory; if set, `offset` is relative to live->offset

  TANDEM_HD Generator::Draw now() const {
    return live == nullptr ? Generator::Draw{seed, offset}
                           : Generator::Draw{live->seed, live->offset + offset};
  }
};

/// `draw` in the form that kernels of this context need.
LiveDraw live_draw(Context& c, const Generator::Draw& draw);

}  // namespace tandem::cuda_impl
