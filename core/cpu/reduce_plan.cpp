// The plan of a reduction: chooses the layout and splits the work.
#include "tandem/core/cpu/reduce_plan.h"

#include <algorithm>

#include "tandem/core/reduce_dims.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kPartElements = 65536;  // a part smaller than this is not worth a task
constexpr int64_t kTasks = 64;            // enough tasks for any machine

}  // namespace

ReducePlan make_reduce_plan(const Tensor& out, const Tensor& in, uint32_t mask, int64_t tile, int64_t inner_block) {
  ReducePlan plan;
  const ReduceDims dims = make_reduce_dims(out, in, mask);
  plan.reduced = dims.elements;
  plan.outputs = dims.outputs;
  plan.outer = dims.outer;
  for (int d = 0; d < dims.reduced_count; ++d) {
    plan.sizes.push_back(dims.reduced[d].size);
    plan.strides.push_back(dims.reduced[d].in);
  }
  if (dims.reduced_count == 0) {
    plan.sizes.push_back(1);
    plan.strides.push_back(1);
  }
  int kept_count = dims.kept_count;
  if (plan.outer) {
    const ReduceDims::Dim last = dims.kept[--kept_count];
    plan.width = last.size;
    plan.width_in = last.in;
    plan.width_out = last.out;
    plan.tile = std::min(tile, plan.width);
    plan.tiles = plan.width == 0 ? 0 : (plan.width + plan.tile - 1) / plan.tile;
  }
  plan.units = plan.tiles;
  for (int d = 0; d < kept_count; ++d) {
    plan.kept_sizes.push_back(dims.kept[d].size);
    plan.kept_in.push_back(dims.kept[d].in);
    plan.kept_out.push_back(dims.kept[d].out);
    plan.units *= dims.kept[d].size;
  }
  const int64_t elements = plan.reduced * std::max<int64_t>(plan.outputs, 1);
  const int64_t wanted = std::min(elements / kPartElements, kTasks / std::max<int64_t>(plan.units, 1));
  plan.block = plan.outer ? outer_block(plan.width) : inner_block;
  plan.part_size = plan.block;
  while (plan.part_size * std::max<int64_t>(wanted, 1) < plan.reduced) plan.part_size *= 2;
  plan.parts = std::max<int64_t>(1, (plan.reduced + plan.part_size - 1) / plan.part_size);
  plan.part_size = std::min(plan.part_size, plan.reduced);
  return plan;
}

}  // namespace tandem::cpu
