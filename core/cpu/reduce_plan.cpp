// The plan of a reduction: dimensions sorted by stride and merged, the layout chosen, the work cut.
#include "tandem/core/cpu/reduce_plan.h"

#include <algorithm>

namespace tandem::cpu {
namespace {

constexpr int64_t kPartElements = 65536;  // a part smaller than this is not worth a task
constexpr int64_t kTasks = 64;            // enough tasks for any machine

struct Dim {
  int64_t size, in, out;
};

// Repeated dimensions (stride 0) are walked outermost.
int64_t order(int64_t stride) { return stride == 0 ? INT64_MAX : stride; }

// Sorted by stride, largest first, and merged where one dimension continues another.
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

ReducePlan make_reduce_plan(const Tensor& out, const Tensor& in, uint32_t mask, int64_t tile) {
  ReducePlan plan;
  Dim reduced[kMaxDims], kept[kMaxDims];
  int reduced_count = 0, kept_count = 0;
  const IntArrayRef sizes = in.sizes(), strides = in.strides();
  for (std::size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 1) continue;
    if (mask >> d & 1u) {
      plan.reduced *= sizes[d];
      reduced[reduced_count++] = {sizes[d], strides[d], 0};
    } else {
      plan.outputs *= sizes[d];
      kept[kept_count++] = {sizes[d], strides[d], out.strides()[d]};
    }
  }
  reduced_count = order_and_merge(reduced, reduced_count);
  kept_count = order_and_merge(kept, kept_count);
  for (int d = 0; d < reduced_count; ++d) {
    plan.sizes.push_back(reduced[d].size);
    plan.strides.push_back(reduced[d].in);
  }
  if (reduced_count == 0) {
    plan.sizes.push_back(1);
    plan.strides.push_back(1);
  }
  plan.outer =
      kept_count > 0 && (reduced_count == 0 || order(kept[kept_count - 1].in) < order(plan.strides.back()));
  if (plan.outer) {
    const Dim last = kept[--kept_count];
    plan.width = last.size;
    plan.width_in = last.in;
    plan.width_out = last.out;
    plan.tile = std::min(tile, plan.width);
    plan.tiles = plan.width == 0 ? 0 : (plan.width + plan.tile - 1) / plan.tile;
  }
  plan.units = plan.tiles;
  for (int d = 0; d < kept_count; ++d) {
    plan.kept_sizes.push_back(kept[d].size);
    plan.kept_in.push_back(kept[d].in);
    plan.kept_out.push_back(kept[d].out);
    plan.units *= kept[d].size;
  }
  const int64_t elements = plan.reduced * std::max<int64_t>(plan.outputs, 1);
  const int64_t wanted = std::min(elements / kPartElements, kTasks / std::max<int64_t>(plan.units, 1));
  plan.parts = std::clamp<int64_t>(wanted, 1, std::max<int64_t>(plan.reduced / 256, 1));
  plan.part_size = (plan.reduced + plan.parts - 1) / plan.parts;
  return plan;
}

}  // namespace tandem::cpu
