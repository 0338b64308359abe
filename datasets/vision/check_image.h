// Internal: the check that all functions on images share.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem::vision::detail {

/// Throws Error unless the tensor is a CPU image [C, H, W] with at least one pixel.
void check_image(const Tensor& image, const char* function);

}  // namespace tandem::vision::detail
