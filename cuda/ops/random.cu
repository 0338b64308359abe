// Random numbers on CUDA devices: one Philox block per thread; the same numbers as on the CPU, bit for bit.
//
// This holds because in random_ops.h every product in a sum is an explicit fma, and IEEE 754 rounds
// everything else correctly: there are no other expressions that the compiler could contract.
#include "tandem/core/backend/random.h"

#include "tandem/core/formulas/random_ops.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/random_tables.h"
#include "tandem/cuda/replayed_value.h"

namespace tandem::cuda_impl {
namespace {

template <class Op, class T>
__global__ void fill_kernel(T* out, int64_t n, ReplayedDraw from, RandomParameters p) {
  constexpr int count = Op::template kCount<T>;
  struct alignas(sizeof(T) * count) Block {
    T at[count];
  };
  const int64_t index = int64_t{blockIdx.x} * blockDim.x + threadIdx.x, first = index * count;
  if (first >= n) return;
  const Generator::Draw draw = from.now();
  Block values;
  Op::apply(philox(draw.seed, draw.offset, static_cast<uint64_t>(index)), p, values.at);
  T* to = out + first;
  if (first + count <= n && reinterpret_cast<std::uintptr_t>(out) % sizeof(Block) == 0) {
    *reinterpret_cast<Block*>(to) = values;
    return;
  }
#pragma unroll
  for (int i = 0; i < count; ++i)
    if (first + i < n) to[i] = values.at[i];
}

struct Maker {
  template <class Op>
  static void kernel(const Tensor& out, const Generator::Draw& draw, const RandomParameters& p) {
    dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
      Context& c = context(out.device());
      launch(Op::name, c, grid_for(out.numel(), Op::template kCount<T>), fill_kernel<Op, T>, out.ptr<T>(), out.numel(),
             replayed_draw(c, draw), p);
    });
  }
};

}  // namespace

constinit const FillRandomKernels fill_random_kernels = FillRandomKernels::from<Maker>(kTakesHalf);
constinit const RandomKernels random_kernels{
    .fill = fill_random_kernels, .multinomial = multinomial, .poisson = poisson, .binomial = binomial};

}  // namespace tandem::cuda_impl
