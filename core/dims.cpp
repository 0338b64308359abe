// Arithmetic on sizes: products, strides, broadcasting, dimension indices.
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
    if (__builtin_mul_overflow(step, std::max<int64_t>(sizes[i], 1), &step)) fail("too many elements: ", sizes);
  }
  return strides;
}

Dims broadcast_sizes(IntArrayRef a, IntArrayRef b, const char* operation) {
  if (a == b) return Dims(a);
  const std::size_t n = std::max(a.size(), b.size());
  Dims out;
  out.resize(n);
  for (std::size_t i = 0; i < n; ++i) {  // starting at the last dimension
    const int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1, y = i < b.size() ? b[b.size() - 1 - i] : 1;
    check(x == y || x == 1 || y == 1, operation, ": shapes ", a, " and ", b, " do not broadcast: ", x, " against ", y,
          " at dimension ", n - 1 - i);
    out[n - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

namespace {
// Marks every element of the window; returns true if one is marked twice.
bool marks_twice(IntArrayRef sizes, IntArrayRef strides, int64_t extent) {
  std::vector<bool> taken(static_cast<std::size_t>(extent));
  Dims index(sizes.size(), 0);
  for (;;) {
    int64_t at = 0;
    for (std::size_t d = 0; d < sizes.size(); ++d) at += index[d] * strides[d];
    if (taken[static_cast<std::size_t>(at)]) return true;
    taken[static_cast<std::size_t>(at)] = true;
    std::size_t d = sizes.size();
    while (d-- > 0) {
      if (++index[d] < sizes[d]) break;
      index[d] = 0;
    }
    if (d > sizes.size()) return false;  // wrapped below 0
  }
}
}  // namespace

bool overlaps_itself(IntArrayRef sizes, IntArrayRef strides) {
  if (std::find(sizes.begin(), sizes.end(), 0) != sizes.end()) return false;
  Dims counts, steps;  // sorted by stride
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (strides[d] == 0) return true;
    std::size_t at = 0;
    while (at < steps.size() && steps[at] < strides[d]) ++at;
    counts.insert(at, sizes[d]);
    steps.insert(at, strides[d]);
  }
  int64_t reach = 0, elements = 1;
  bool nested = true;
  for (std::size_t d = 0; d < counts.size(); ++d) {
    nested = nested && steps[d] > reach;
    reach += (counts[d] - 1) * steps[d];
    elements *= counts[d];
  }
  if (nested) return false;
  constexpr int64_t limit = int64_t{1} << 26;
  return elements > reach + 1 || reach >= limit || marks_twice(counts, steps, reach + 1);
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
