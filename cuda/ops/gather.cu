// Reads at positions given by an index: offsets of advanced indexing, get and gather. Elementwise over the
// result. An index out of range is reported (cuda/fault.h); it reads element 0, or yields 0 in gather.
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/index.h"
#include "tandem/cuda/raise_fault.h"
#include "tandem/cuda/strided.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kEach = 4;  // elements per thread, one block width apart
constexpr uint32_t kThreads = 256;

// Calls f(position) for each element of a thread.
template <class F>
__device__ inline void for_each(uint32_t n, F f) {
  const uint32_t start = blockIdx.x * (kThreads * kEach) + threadIdx.x;
  for (uint32_t k = 0; k < kEach; ++k)
    if (start + k * kThreads < n) f(start + k * kThreads);
}

struct Bounds {
  HostText operation;
  int64_t dim, size, stride;
  bool wrap, first;  // first: assigns the offset, otherwise adds to it
};

__global__ void offsets_kernel(uint32_t n, Walk<2> walk, Bounds at, int64_t* out, const int64_t* index, Fault* fault) {
  for_each(n, [&](uint32_t p) {
    const auto o = walk.offsets(p);
    const int64_t given = index[o.at[1]];
    int64_t i = at.wrap && given < 0 ? given + at.size : given;
    if (static_cast<uint64_t>(i) >= static_cast<uint64_t>(at.size)) {
      raise_index_fault(fault, at.operation, given, at.dim, at.size);
      i = 0;
    }
    out[o.at[0]] = (at.first ? 0 : out[o.at[0]]) + i * at.stride;
  });
}

template <class Bits>
__global__ void get_kernel(uint32_t n, Walk<3> walk, Bits* out, const Bits* in, const int64_t* offsets) {
  for_each(n, [&](uint32_t p) {
    const auto o = walk.offsets(p);
    out[o.at[0]] = in[o.at[1] + offsets[o.at[2]]];
  });
}

// Rows: each thread moves 16 bytes, in one access if the address is aligned.
template <class Bits>
__global__ void get_rows_kernel(uint32_t n, Walk<3> walk, Bits* out, const Bits* in, const int64_t* offsets) {
  for_each(n, [&](uint32_t p) {
    const auto o = walk.offsets(p);
    const Bits* from = in + o.at[1] + offsets[o.at[2]];
    Bits* to = out + o.at[0];
    if (((reinterpret_cast<uintptr_t>(from) | reinterpret_cast<uintptr_t>(to)) & 15) == 0) {
      *reinterpret_cast<uint4*>(to) = *reinterpret_cast<const uint4*>(from);
    } else {
      for (uint32_t k = 0; k < 16 / sizeof(Bits); ++k) to[k] = from[k];
    }
  });
}

struct GatherAlong {
  HostText operation;
  int64_t dim, size, step;
};

template <class Bits>
__global__ void gather_kernel(uint32_t n, Walk<3> walk, GatherAlong along, Bits* out, const Bits* in,
                              const int64_t* index, Fault* fault) {
  for_each(n, [&](uint32_t p) {
    const auto o = walk.offsets(p);
    const int64_t i = index[o.at[2]];
    const bool fine = static_cast<uint64_t>(i) < static_cast<uint64_t>(along.size);
    if (!fine) raise_index_fault(fault, along.operation, i, along.dim, along.size);
    out[o.at[0]] = fine ? in[o.at[1] + i * along.step] : Bits(0);
  });
}

Grid grid_of(uint32_t n) { return grid_for(n, kEach, kThreads); }

// Rewrites the plan in steps of 16 bytes if its innermost dimension is a row of both tensors. Otherwise
// returns false and leaves it unchanged.
bool in_rows(LoopPlan<3>& plan, int64_t item) {
  const int64_t each = 16 / item;
  if (plan.strides[0][0] != 1 || plan.strides[0][1] != 1 || plan.strides[0][2] != 0 || plan.sizes[0] % each != 0)
    return false;
  plan.sizes[0] /= each;
  plan.numel /= each;
  plan.strides[0][0] = plan.strides[0][1] = each;
  return true;
}

}  // namespace

void offsets(const Tensor& out, TensorList indices, const IndexedDims& at) {
  Context& c = context(out.device());
  if (out.numel() == 0) return;
  for (std::size_t k = 0; k < indices.size(); ++k) {
    check_index(at.sizes[k] != 0, at.operation, ": index is out of bounds for dimension with size 0");
    const Bounds bounds{at.operation, at.dims[k], at.sizes[k], at.strides[k], at.wrap, k == 0};
    for_pieces(make_plan<2>({&out, &indices[k]}), [&](const Piece<2>& piece) {
      launch(at.operation, c, grid_of(piece.numel), offsets_kernel, piece.numel, piece.walk, bounds,
             reinterpret_cast<int64_t*>(piece.data[0]), reinterpret_cast<const int64_t*>(piece.data[1]), c.fault());
    });
  }
}

void get(const Tensor& out, const Tensor& in, const Tensor& offsets) {
  Context& c = context(out.device());
  LoopPlan<3> plan = make_plan<3>({&out, &in, &offsets});
  if (plan.numel == 0) return;
  const bool rows = in_rows(plan, in.element_size());
  dispatch_bits(in.element_size(), [&]<class Bits>(Type<Bits>) {
    for_pieces(plan, [&](const Piece<3>& piece) {
      launch("index", c, grid_of(piece.numel), rows ? get_rows_kernel<Bits> : get_kernel<Bits>, piece.numel, piece.walk,
             reinterpret_cast<Bits*>(piece.data[0]), reinterpret_cast<const Bits*>(piece.data[1]),
             reinterpret_cast<const int64_t*>(piece.data[2]));
    });
  });
}

void gather(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index) {
  Context& c = context(out.device());
  Dims strides(in.strides());
  const GatherAlong along{"gather", dim, in.size(dim), in.stride(dim)};
  strides[static_cast<std::size_t>(dim)] = 0;
  const Tensor start = alias(in, index.sizes(), strides, in.storage_offset());
  dispatch_bits(in.element_size(), [&]<class Bits>(Type<Bits>) {
    for_pieces(make_plan<3>({&out, &start, &index}), [&](const Piece<3>& piece) {
      launch("gather", c, grid_of(piece.numel), gather_kernel<Bits>, piece.numel, piece.walk, along,
             reinterpret_cast<Bits*>(piece.data[0]), reinterpret_cast<const Bits*>(piece.data[1]),
             reinterpret_cast<const int64_t*>(piece.data[2]), c.fault());
    });
  });
}

}  // namespace tandem::cuda_impl
