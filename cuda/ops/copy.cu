// Copies between any two dtypes, and fills, on CUDA devices.
#include <algorithm>
#include <cstring>

#include "tandem/core/backend/copy.h"
#include "tandem/core/formulas/convert.h"
#include "tandem/core/formulas/store.h"
#include "tandem/cuda/copies.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/ops/cat_batch.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/transpose_plan.h"
#include "tandem/cuda/unroll.h"

namespace tandem::cuda_impl {
namespace {

template <class Bits>
struct Move {
  using In = Bits;
  using Out = Bits;
  __device__ Bits operator()(Bits x) const { return x; }
};

// Each block moves one tile through shared memory: it reads along one dimension and writes along the other.
template <class Bits>
__global__ void transpose_kernel(Bits* out, const Bits* in, const TransposePlan p) {
  constexpr int tile = transpose_tile(sizeof(Bits)), rows_at_once = kTransposeThreads / tile;
  constexpr int pad = sizeof(Bits) >= 4 ? 1 : static_cast<int>(4 / sizeof(Bits));  // avoids bank conflicts
  __shared__ Bits values[tile][tile + pad];
  const TransposeTile at = p.tile(blockIdx.x, tile);
  const uint32_t x = threadIdx.x % tile, y = threadIdx.x / tile;
#pragma unroll
  for (uint32_t i = 0; i < tile; i += rows_at_once) {
    const uint32_t row = at.row + y + i, column = at.column + x;
    if (row < p.rows && column < p.columns)
      values[y + i][x] = in[static_cast<int32_t>(at.in + row * p.row_in + column)];
  }
  __syncthreads();
#pragma unroll
  for (uint32_t i = 0; i < tile; i += rows_at_once) {
    const uint32_t row = at.row + x, column = at.column + y + i;
    if (row < p.rows && column < p.columns) out[at.out + row + column * p.column_out] = values[x][y + i];
  }
}

template <class Bits>
void copy_bits(Context& c, const LoopPlan<2>& plan) {
  if (!transpose_applies(plan)) return run_elementwise<Move<Bits>, 1>("copy_", c, {}, {Bits{}}, plan);
  for_pieces(plan, [&](const Piece<2>& piece) {
    const TransposePlan p(piece, transpose_tile(sizeof(Bits)));
    launch("copy_", c, Grid{p.tiles, kTransposeThreads}, transpose_kernel<Bits>, reinterpret_cast<Bits*>(piece.data[0]),
           reinterpret_cast<const Bits*>(piece.data[1]), p);
  });
}

void copy_same(Context& c, const Tensor& out, const Tensor& in) {
  const LoopPlan<2> plan = make_plan<2>({&out, &in});
  if (plan.ndim == 1 && plan.strides[0][0] == 1 && plan.strides[0][1] == 1) {
    if (plan.data[0] == plan.data[1]) return;
    ensure(cudaMemcpyAsync(plan.data[0], plan.data[1], out.nbytes(), cudaMemcpyDeviceToDevice, c.stream()),
           "cudaMemcpyAsync");
    return note_launch("copy_");
  }
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) { copy_bits<Bits>(c, plan); });
}

// Converts the parts of a batch, of one row each; a thread converts kCatEach neighbours.
template <class To, class From>
__global__ void __launch_bounds__(kCatThreads) convert_kernel(CatBatch batch) {
  const uint32_t part = batch.part_of(blockIdx.x);
  const auto* from = reinterpret_cast<const From*>(batch.from[part]);
  auto* to = reinterpret_cast<To*>(batch.to[part]);
  const uint32_t at = (blockIdx.x - batch.first_block[part]) * kCatBlock + threadIdx.x * kCatEach;
  using Read = Pack<From, kCatEach>;
  using Written = Pack<To, kCatEach>;
  const bool vectors =
      reinterpret_cast<uintptr_t>(from) % sizeof(Read) == 0 && reinterpret_cast<uintptr_t>(to) % sizeof(Written) == 0;
  if (vectors && at + kCatEach <= batch.units[part]) {
    const Read read = *reinterpret_cast<const Read*>(from + at);
    Written written;
    TANDEM_UNROLL
    for (uint32_t k = 0; k < kCatEach; ++k) written.x[k] = ops::convert<To>(read.x[k]);
    *reinterpret_cast<Written*>(to + at) = written;
  } else {
    for (uint32_t i = at; i < at + kCatEach && i < batch.units[part]; ++i) to[i] = ops::convert<To>(from[i]);
  }
}

template <class To, class From>
void convert_all(TensorList out, TensorList in) {
  Context& c = context(out[0].device());
  CatBatch batch;
  const auto start = [&] {
    launch("copy_all", c, Grid{int64_t{batch.blocks}, static_cast<int>(kCatThreads)}, convert_kernel<To, From>, batch);
    batch.blocks = batch.parts = 0;
  };
  for (std::size_t i = 0; i < out.size(); ++i) {
    const int64_t numel = out[i].numel(), most = cat_rows(1);
    for (int64_t first = 0; first < numel; first += most) {
      const CatPart part{static_cast<const char*>(in[i].data_ptr()) + first * in[i].element_size(),
                         static_cast<char*>(out[i].data_ptr()) + first * out[i].element_size(), 1,
                         std::min(most, numel - first)};
      if (batch.add(part)) continue;
      start();
      batch.add(part);
    }
  }
  start();
}

void copy_all(TensorList out, TensorList in) {
  if (out.empty()) return;
  const auto half = isReducedFloatingType(out[0].scalar_type()) ? out[0].scalar_type() : in[0].scalar_type();
  dispatch(half, TypeList<Half, BFloat16>{}, "copy_all", [&]<class T>(Type<T>) {
    out[0].scalar_type() == kFloat ? convert_all<float, T>(out, in) : convert_all<T, float>(out, in);
  });
}

// As many bytes as a kernel's parameters have room for on every GPU.
struct ConstantBytes {
  char bytes[4000];
};
__global__ void write_constant_bytes(char* to, ConstantBytes piece, int count) {
  const int at = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (at < count) to[at] = piece.bytes[at];
}

}  // namespace

void copy(const Tensor& out, const Tensor& in) {
  if (out.numel() == 0) return;
  if (out.dtype() == in.dtype()) return copy_same(context(out.device()), out, in);
  const Operand from(in);
  dispatch(out.dtype(), RealTypes{}, "copy_", [&]<class To>(Type<To>) {
    dispatch(in.dtype(), RealTypes{}, "copy_", [&]<class From>(Type<From>) {
      if constexpr (!std::is_same_v<To, From>) elementwise("copy_", Convert<To, From>{}, out, {&from});
    });
  });
}

void fill(const Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  alignas(8) char bytes[kMaxItem];
  store(value, out.dtype(), bytes);
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) {
    Bits bits;
    std::memcpy(&bits, bytes, sizeof bits);
    run_elementwise<Move<Bits>, 1>("fill_", context(out.device()), {}, {bits}, make_plan<2>({&out, nullptr}));
  });
}

void write_constant(Context& c, void* to, const void* from, std::size_t bytes) {
  for (std::size_t at = 0; at < bytes; at += sizeof(ConstantBytes)) {
    ConstantBytes piece;
    const std::size_t count = std::min(bytes - at, sizeof piece);
    std::memcpy(piece.bytes, static_cast<const char*>(from) + at, count);
    launch("constant", c, grid_for(static_cast<int64_t>(count)), write_constant_bytes, static_cast<char*>(to) + at,
           piece, static_cast<int>(count));
  }
}

constinit const CopyKernels copy_kernels{.copy = copy, .fill = fill, .copy_all = {copy_all, kTakesHalf}};

}  // namespace tandem::cuda_impl
