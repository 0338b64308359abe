// Arithmetic on sizes: products, strides, broadcasting, dimension numbers.
#include "tandem/core/dims.h"

#include <algorithm>

namespace tandem {

int64_t checked_numel(IntArrayRef sizes) {
  int64_t product = 1;
  bool empty = false, overflow = false;
  for (int64_t size : sizes) {
    check(size >= 0, "sizes must not be negative, got ", sizes);
    empty |= size == 0;
    if (size != 0) overflow |= __builtin_mul_overflow(product, size, &product);
  }
  if (empty) return 0;
  check(!overflow, "too many elements: ", sizes);
  return product;
}

Dims contiguous_strides(IntArrayRef sizes) {
  Dims strides;
  strides.resize(sizes.size());
  int64_t step = 1;
  for (std::size_t i = sizes.size(); i-- > 0;) {
    strides[i] = step;
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step))
      fail("too many elements: ", sizes);
  }
  return strides;
}

Dims broadcast_sizes(IntArrayRef a, IntArrayRef b, const char* operation) {
  if (a == b) return Dims(a);
  const std::size_t n = std::max(a.size(), b.size());
  Dims out;
  out.resize(n);
  for (std::size_t i = 0; i < n; ++i) {  // from the last dimension
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    check(x == y || x == 1 || y == 1, operation, ": shapes ", a, " and ", b, " do not broadcast: ", x,
          " against ", y, " at dimension ", n - 1 - i);
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

int64_t wrap_dim(int64_t dim, int64_t ndim) {
  const int64_t n = std::max<int64_t>(ndim, 1);
  check_index(dim >= -n && dim < n, "dimension ", dim, " is out of range: expected ", -n, " to ", n - 1);
  return dim < 0 ? dim + n : dim;
}

uint32_t dim_mask(IntArrayRef dims, int64_t ndim, bool empty_means_all) {
  if (dims.empty() && empty_means_all) return (1u << std::max<int64_t>(ndim, 1)) - 1u;
  uint32_t mask = 0;
  for (int64_t dim : dims) {
    const uint32_t bit = 1u << wrap_dim(dim, ndim);
    check((mask & bit) == 0, "dimension ", dim, " appears twice in ", dims);
    mask |= bit;
  }
  return mask;
}

}  // namespace tandem
