// nonzero: positions of nonzero elements, in row-major order. Counts per tile are summed by one block; each
// tile then writes after the preceding ones. count_nonzero returns a number to the host and is the only
// function in this backend's tables that waits for the device.
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/runtime.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/index.h"
#include "tandem/cuda/strided.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

constexpr int kThreads = 256, kWarps = kThreads / 32, kRounds = 16;
constexpr int64_t kTile = int64_t{kThreads} * kRounds;

/// Elements as bits: a number is 0 when its bits in `mask` are 0 (-0 is 0, NaN is not).
template <class Bits>
struct Elements {
  const Bits* data;
  int64_t count;
  Bits mask;
  __device__ bool nonzero(int64_t i) const { return i < count && (data[i] & mask) != 0; }
};

// The sum over a block, in all its threads. `shared` holds kWarps numbers.
__device__ inline int32_t block_sum(int32_t value, int32_t* shared) {
  for (int step = 16; step > 0; step /= 2) value += __shfl_xor_sync(0xffffffffu, value, step);
  if (threadIdx.x % 32 == 0) shared[threadIdx.x / 32] = value;
  __syncthreads();
  int32_t sum = 0;
  for (int w = 0; w < kWarps; ++w) sum += shared[w];
  __syncthreads();
  return sum;
}

template <class Bits>
__global__ void count_kernel(Elements<Bits> x, int64_t* counts) {
  __shared__ int32_t shared[kWarps];
  const int64_t start = blockIdx.x * kTile + threadIdx.x;
  int32_t count = 0;
  for (int k = 0; k < kRounds; ++k) count += x.nonzero(start + k * kThreads) ? 1 : 0;
  count = block_sum(count, shared);
  if (threadIdx.x == 0) counts[blockIdx.x] = count;
}

// Replaces counts by the sums of the preceding counts; `total` becomes the sum of all. One block.
__global__ void scan_kernel(int64_t tiles, int64_t* counts, int64_t* total) {
  __shared__ int64_t sums[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  int64_t before = 0;
  for (int64_t start = 0; start < tiles; start += kThreads) {
    const int64_t own = start + thread < tiles ? counts[start + thread] : 0;
    sums[thread] = own;
    __syncthreads();
    for (int step = 1; step < kThreads; step *= 2) {
      const int64_t left = thread >= step ? sums[thread - step] : 0;
      __syncthreads();
      sums[thread] += left;
      __syncthreads();
    }
    if (start + thread < tiles) counts[start + thread] = before + sums[thread] - own;
    before += sums[kThreads - 1];
    __syncthreads();
  }
  if (thread == 0) *total = before;
}

struct Coordinates {
  int rank = 0;
  bool wide = false;  // more elements than 31 bits can count
  FastDivide sizes[kMaxDims];
  int64_t wide_sizes[kMaxDims];
};

__device__ inline void write_position(const Coordinates& at, int64_t index, int64_t* to) {
  for (int d = at.rank - 1; d >= 0; --d) {
    const int64_t rest =
        at.wide ? index / at.wide_sizes[d] : int64_t{at.sizes[d].quotient(static_cast<uint32_t>(index))};
    to[d] = index - rest * at.wide_sizes[d];
    index = rest;
  }
}

template <class Bits>
__global__ void write_kernel(Elements<Bits> x, Coordinates at, const int64_t* starts, int64_t* out) {
  __shared__ int32_t found[kWarps];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const uint32_t lower = (1u << (threadIdx.x % 32)) - 1;
  const int64_t first = blockIdx.x * kTile + threadIdx.x;
  int64_t start = starts[blockIdx.x];
  for (int k = 0; k < kRounds; ++k) {
    const int64_t i = first + k * kThreads;
    const bool hit = x.nonzero(i);
    const uint32_t hits = __ballot_sync(0xffffffffu, hit);
    if (threadIdx.x % 32 == 0) found[warp] = __popc(hits);
    __syncthreads();
    int32_t before = 0, all = 0;
    for (int w = 0; w < kWarps; ++w) {
      if (w < warp) before += found[w];
      all += found[w];
    }
    if (hit) write_position(at, i, out + (start + before + __popc(hits & lower)) * at.rank);
    start += all;
    __syncthreads();
  }
}

// Calls f(Elements) with the tensor's bits.
template <class F>
void with_elements(const Tensor& x, F f) {
  dispatch_bits(x.element_size(), [&]<class Bits>(Type<Bits>) {
    if constexpr (std::is_integral_v<Bits>) {
      const Bits all = static_cast<Bits>(~Bits{0});
      f(Elements<Bits>{static_cast<const Bits*>(x.data_ptr()), x.numel(),
                       is_floating_point(x.dtype()) ? static_cast<Bits>(all >> 1) : all});
    }
  });
}

// The start of each tile's positions, followed by the total.
Tensor tile_starts(Context& c, const Tensor& x) {
  const int64_t tiles = ceil_div(x.numel(), kTile);
  check(tiles < kMaxElements, "nonzero: too many elements\n  self ", x);
  const Tensor counts = empty_raw({tiles + 1}, kLong, c.device());
  int64_t* p = counts.ptr<int64_t>();
  with_elements(x, [&]<class Bits>(const Elements<Bits>& elements) {
    launch("nonzero", c, Grid{tiles, kThreads}, count_kernel<Bits>, elements, p);
  });
  launch("nonzero", c, Grid{1, kThreads}, scan_kernel, tiles, p, p + tiles);
  return counts;
}

}  // namespace

int64_t count_nonzero(const Tensor& in) {
  Context& c = context(in.device());
  if (in.numel() == 0) return 0;
  check(c.recording == nullptr,
        "nonzero: not supported in a capture, because the host must wait for the number of elements\n  self ", in);
  const Tensor x = row_major(in), starts = tile_starts(c, x);
  const int64_t* total = starts.ptr<int64_t>() + starts.numel() - 1;
  int64_t count = 0;
  runtime_kernels.copy_bytes(&count, Device(kCPU), total, in.device(), sizeof count, false);
  return count;
}

void nonzero(const Tensor& out, const Tensor& in) {
  Context& c = context(in.device());
  if (out.numel() == 0) return;
  const Tensor x = row_major(in), starts = tile_starts(c, x);
  Coordinates at;
  at.rank = static_cast<int>(in.sizes().size());
  at.wide = x.numel() >= kMaxElements;
  for (int d = 0; d < at.rank; ++d) {
    at.wide_sizes[d] = in.sizes()[static_cast<std::size_t>(d)];
    if (!at.wide) at.sizes[d] = FastDivide(static_cast<uint32_t>(at.wide_sizes[d]));
  }
  with_elements(x, [&]<class Bits>(const Elements<Bits>& elements) {
    launch("nonzero", c, Grid{ceil_div(x.numel(), kTile), kThreads}, write_kernel<Bits>, elements, at,
           starts.ptr<int64_t>(), out.ptr<int64_t>());
  });
}

}  // namespace tandem::cuda_impl
