// A row-major tensor viewed as [outer, n, inner] around one dimension, for kernels that work along it.
#pragma once
#include <algorithm>

#include "tandem/core/tensor.h"

namespace tandem {

struct LineSplit {
  int64_t outer = 1, n = 1, inner = 1;
  LineSplit(IntArrayRef sizes, int64_t dim) {
    for (std::size_t d = 0; d < sizes.size(); ++d)
      (static_cast<int64_t>(d) < dim ? outer : static_cast<int64_t>(d) == dim ? n : inner) *= sizes[d];
  }
  int64_t lines() const { return outer * inner; }
  /// Offset of the first element of a line, for a tensor with `size` elements along the dimension.
  int64_t start(int64_t line, int64_t size) const { return line / inner * size * inner + line % inner; }
};

}  // namespace tandem
