// Batches from an in-memory data set: one pass from bytes to model inputs.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/pixel_scale.h"

namespace tandem {

struct DataKernels {
  /// out[i] = images[index[i]], scaled; label_out[i] = labels[index[i]]. images uint8 [N, …], labels int64
  /// [N], index int64 [n], out float32 with n times the elements of an image, label_out int64 [n]; all
  /// row-major on one device. An index out of range throws IndexError.
  Kernel<"gather_normalized", void(const Tensor& out, const Tensor& label_out, const Tensor& images,
                                   const Tensor& labels, const Tensor& index, const PixelScale& pixels)>
      gather_normalized;
};

}  // namespace tandem
