// Checks of values, and batches from an in-memory data set: one pass from bytes to model inputs.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/pixel_scale.h"

namespace tandem {

/// The numbers that an operation takes: [low, high]. Both strings are literals.
struct ValueRange {
  double low = 0, high = 0;
  const char* operation = nullptr;
  const char* message = nullptr;
};

struct DataKernels {
  /// Throws Error ("operation: message") for a number of x outside of the range, and for NaN; on CUDA at the next
  /// synchronisation. x is row-major and of float32 or float64.
  Kernel<"check_range", void(const Tensor& x, const ValueRange& range), HalfCalls{.outputs = 0}> check_range;
  /// out[i] = images[index[i]], scaled; label_out[i] = labels[index[i]]. images uint8 [N, …], labels int64
  /// [N], index int64 [n], out float32 with n times the elements of an image, label_out int64 [n]; all
  /// row-major on one device. An index out of range throws IndexError.
  Kernel<"gather_normalized", void(const Tensor& out, const Tensor& label_out, const Tensor& images,
                                   const Tensor& labels, const Tensor& index, const PixelScale& pixels)>
      gather_normalized;
};

}  // namespace tandem
