// The dimensions of a reduction, sorted by stride and merged.
#include "tandem/core/reduce_dims.h"

#include <algorithm>
#include <utility>

namespace tandem {
namespace {

using Dim = ReduceDims::Dim;

// Broadcast dimensions (stride 0) go outermost.
int64_t order(int64_t stride) { return stride == 0 ? INT64_MAX : stride; }

// Sorts by stride, largest first, and merges dimensions that continue each other. Returns the new count.
int order_and_merge(Dim* dims, int count) {
  for (int i = 1; i < count; ++i)
    for (int j = i; j > 0 && order(dims[j - 1].in) < order(dims[j].in); --j) std::swap(dims[j - 1], dims[j]);
  int merged = 0;
  for (int i = 0; i < count; ++i) {
    if (merged > 0 && dims[merged - 1].in == dims[i].in * dims[i].size &&
        dims[merged - 1].out == dims[i].out * dims[i].size) {
      dims[merged - 1] = {dims[merged - 1].size * dims[i].size, dims[i].in, dims[i].out};
    } else {
      dims[merged++] = dims[i];
    }
  }
  return merged;
}

}  // namespace

ReduceDims make_reduce_dims(const Tensor& out, const Tensor& in, uint32_t mask) {
  ReduceDims plan;
  const IntArrayRef sizes = in.sizes(), strides = in.strides();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (mask >> d & 1u) {
      plan.elements *= sizes[d];
      plan.reduced[plan.reduced_count++] = {sizes[d], strides[d], 0};
    } else {
      plan.outputs *= sizes[d];
      plan.kept[plan.kept_count++] = {sizes[d], strides[d], out.strides()[d]};
    }
  }
  plan.reduced_count = order_and_merge(plan.reduced, plan.reduced_count);
  plan.kept_count = order_and_merge(plan.kept, plan.kept_count);
  plan.outer = plan.kept_count > 0 && (plan.reduced_count == 0 || order(plan.kept[plan.kept_count - 1].in) <
                                                                      order(plan.reduced[plan.reduced_count - 1].in));
  return plan;
}

int64_t outer_block(int64_t width) {
  constexpr int64_t kRows = 64, kNarrow = 32, kNarrowBlock = 4096;
  return width > kNarrow ? kRows : std::max(kRows, kNarrowBlock / std::max<int64_t>(width, 1));
}

int64_t reduced_elements(IntArrayRef sizes, uint32_t mask) {
  int64_t count = 1;
  for (std::size_t d = 0; d < sizes.size(); ++d)
    if (mask >> d & 1u) count *= sizes[d];
  return count;
}

}  // namespace tandem
