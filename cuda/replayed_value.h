// Values that change from one replay of a captured step to the next, such as learning rates and the offsets of random
// numbers. Kernels of a captured step read them from device memory that is rewritten before a replay (cuda/capture.h);
// outside a capture they are kernel parameters.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/random/generator.h"
#include "tandem/cuda/context.h"

namespace tandem::cuda_impl {

/// A kernel parameter; T must be trivially copyable.
template <class T>
struct ReplayedValue {
  T value;
  const T* memory = nullptr;  ///< in device memory; null outside a capture
  TANDEM_HD T now() const { return memory == nullptr ? value : *memory; }
};

/// The draw of a random kernel, as a kernel parameter.
struct ReplayedDraw {
  uint64_t seed, offset;
  /// In device memory; null outside a capture. If set, `offset` is relative to memory->offset.
  const Generator::Draw* memory = nullptr;

  TANDEM_HD Generator::Draw now() const {
    return memory == nullptr ? Generator::Draw{seed, offset} : Generator::Draw{memory->seed, memory->offset + offset};
  }
};

/// `draw` in the form that kernels of this context need.
ReplayedDraw replayed_draw(Context& c, const Generator::Draw& draw);

}  // namespace tandem::cuda_impl
