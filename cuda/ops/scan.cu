// Running sums, products, extremes and linear recurrences on CUDA.
//
// With many or short lines, one thread per line. Otherwise one block scans a line, or one of its parts after
// a first kernel has folded every part. The choice depends only on shapes, so results have a fixed order.
#include "tandem/cuda/device.h"

#include <algorithm>
#include <bit>

#include "tandem/core/backend/scan.h"
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/scan_ops.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/strict/scan.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {
namespace {

using ops::Running, ops::ScanTypes;

// The scanned operation: an associative operation on State with the left operand first.
template <class T_>
struct Sums {
  using T = T_;
  using State = Running<T>;
  const T* in;
  __device__ static State none() { return 0; }
  __device__ State load(int64_t at) const { return static_cast<State>(in[at]); }
  __device__ static State join(State a, State b) { return ops::wrapping_sum(a, b); }
  __device__ static T value(State s) { return static_cast<T>(s); }
};
template <class T_>
struct Products : Sums<T_> {
  using State = typename Sums<T_>::State;
  __device__ static State none() { return 1; }
  __device__ static State join(State a, State b) { return ops::Mul::apply(a, b); }
};

// Maps y to b + a y.
template <class A>
struct Step {
  A a, b;
  friend __device__ Step shuffle_up(Step s, int apart) {
    return {cuda_impl::shuffle_up(s.a, apart), cuda_impl::shuffle_up(s.b, apart)};
  }
  friend __device__ Step shuffle(Step s, int lane) { return {strict::shuffle(s.a, lane), strict::shuffle(s.b, lane)}; }
};
template <class T_>
struct Recurrences {
  using T = T_;
  using State = Step<Running<T>>;
  const T *a, *b;
  __device__ static State none() { return {1, 0}; }
  __device__ State load(int64_t at) const { return {static_cast<Running<T>>(a[at]), static_cast<Running<T>>(b[at])}; }
  __device__ static State join(State first, State then) { return {then.a * first.a, then.b + then.a * first.b}; }
  __device__ static T value(State s) { return static_cast<T>(s.b); }
};

template <class T_>
struct LogSums {
  using T = T_;
  using State = double;
  const T* in;
  __device__ static State none() { return -HUGE_VAL; }
  __device__ State load(int64_t at) const { return static_cast<State>(in[at]); }
  __device__ static State join(State a, State b) { return ops::log_add_exp(a, b); }
  __device__ static T value(State s) { return static_cast<T>(s); }
};

// The extreme element so far and its position along the dimension; -1: none.
template <class A>
struct Extreme {
  A value;
  int64_t index;
  friend __device__ Extreme shuffle_up(Extreme s, int apart) {
    return {cuda_impl::shuffle_up(s.value, apart), cuda_impl::shuffle_up(s.index, apart)};
  }
};
// A holds every value of the input's dtype.
template <class In, class A, bool kSmallest>
struct Extremes {
  using T = int64_t;
  using State = Extreme<A>;
  const In* in;
  int64_t n, inner;
  __device__ static State none() { return {A(0), -1}; }
  __device__ State load(int64_t at) const { return {static_cast<A>(in[at]), at / inner % n}; }
  __device__ static State join(State a, State b) {
    if (a.index < 0 || b.index < 0) return a.index < 0 ? b : a;
    return ops::extends(a.value, b.value, kSmallest) ? b : a;
  }
  __device__ static T value(State s) { return s.index; }
};

constexpr int kItems = 4;  // elements per thread in a tile
constexpr int64_t kMaxParts = 256, kPartSize = 16384;

// Lines of n elements with stride `inner`.
struct Lines {
  int64_t count, n, inner;
  bool reverse;
  int64_t parts, part_size;

  __device__ int64_t start(int64_t line) const {
    return inner == 1 ? line * n : line / inner * n * inner + line % inner;
  }
  __device__ int64_t offset(int64_t i) const { return (reverse ? n - 1 - i : i) * inner; }
};

template <class S>
__global__ void __launch_bounds__(kLineThreads) scan_by_threads(S s, Lines l, typename S::T* out) {
  const int64_t line = int64_t{blockIdx.x} * kLineThreads + threadIdx.x;
  if (line >= l.count) return;
  const int64_t start = l.start(line);
  typename S::State state = S::none();
  for (int64_t i = 0; i < l.n; ++i) {
    const int64_t at = start + l.offset(i);
    state = S::join(state, s.load(at));
    out[at] = S::value(state);
  }
}

// Inclusive scan over the threads of a warp.
template <class S>
__device__ typename S::State scan_warp(typename S::State state) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (int apart = 1; apart < 32; apart *= 2) {
    const auto before = shuffle_up(state, apart);
    if (lane >= apart) state = S::join(before, state);
  }
  return state;
}

// Scans the elements [from, until) of a line with a block. If `out` is null, nothing is written. Returns the
// fold of `carry` and all the elements.
template <class S>
__device__ typename S::State scan_range(const S& s, const Lines& l, int64_t start, int64_t from, int64_t until,
                                        typename S::State carry, typename S::T* out) {
  using State = typename S::State;
  __shared__ State warps[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  for (int64_t tile = from; tile < until; tile += threads * kItems) {
    const int64_t first = tile + thread * kItems;
    State items[kItems];
    TANDEM_UNROLL
    for (int k = 0; k < kItems; ++k) items[k] = first + k < until ? s.load(start + l.offset(first + k)) : S::none();
    TANDEM_UNROLL
    for (int k = 1; k < kItems; ++k) items[k] = S::join(items[k - 1], items[k]);
    const State upto = scan_warp<S>(items[kItems - 1]);
    if (thread % 32 == 31) warps[thread / 32] = upto;
    State before = shuffle_up(upto, 1);
    if (thread % 32 == 0) before = S::none();
    __syncthreads();
    State prefix = carry;
    for (int w = 0; w < threads / 32; ++w) {
      if (w == thread / 32) prefix = carry;
      carry = S::join(carry, warps[w]);
    }
    prefix = S::join(prefix, before);
    if (out != nullptr) {
      TANDEM_UNROLL
      for (int k = 0; k < kItems; ++k)
        if (first + k < until) out[start + l.offset(first + k)] = S::value(S::join(prefix, items[k]));
    }
    __syncthreads();
  }
  return carry;
}

// totals [lines, parts]
template <class S>
__global__ void __launch_bounds__(kLineThreads) fold_parts(S s, Lines l, typename S::State* totals) {
  const int64_t line = blockIdx.x / l.parts, from = (blockIdx.x - line * l.parts) * l.part_size;
  const auto total = scan_range(s, l, l.start(line), from, from + l.part_size < l.n ? from + l.part_size : l.n,
                                S::none(), static_cast<typename S::T*>(nullptr));
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

template <class S>
__global__ void __launch_bounds__(kLineThreads)
    scan_by_blocks(S s, Lines l, const typename S::State* totals, typename S::T* out) {
  const int64_t line = blockIdx.x / l.parts, part = blockIdx.x - line * l.parts, from = part * l.part_size;
  auto carry = S::none();
  for (int64_t p = 0; p < part; ++p) carry = S::join(carry, totals[line * l.parts + p]);
  scan_range(s, l, l.start(line), from, from + l.part_size < l.n ? from + l.part_size : l.n, carry, out);
}

template <class S>
void scan(const char* operation, const S& s, const Tensor& out, int64_t dim, bool reverse) {
  using State = typename S::State;
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  const LineSplit split(out.sizes(), dim);
  Lines l{split.lines(), split.n, split.inner, reverse, 1, split.n};
  auto* to = out.ptr<typename S::T>();
  if (l.n <= 16 || (l.inner > 1 && (l.n <= 64 || l.count >= 4096 || is_strict()))) {
    launch(operation, c, grid_for(l.count, 1, kLineThreads), scan_by_threads<S>, s, l, to);
    return;
  }
  if constexpr (std::is_floating_point_v<typename S::T>)
    if (is_strict())
      return launch(operation, c, grid_for(l.count * 32, 1, kLineThreads), strict::scan_rows<S, Lines>, s, l, to);
  const auto wanted = static_cast<int>(std::bit_ceil(static_cast<uint64_t>(std::min<int64_t>(l.n, 1024) / kItems)));
  const int threads = std::clamp(wanted, 32, kLineThreads);
  const int64_t parts = std::clamp<int64_t>(l.n / kPartSize, 1, std::max<int64_t>(1, 1024 / l.count));
  l.part_size = ceil_div(l.n, std::min(parts, kMaxParts));
  l.parts = ceil_div(l.n, l.part_size);
  Tensor scratch;
  State* totals = nullptr;
  if (l.parts > 1) {
    scratch = empty_raw({l.count * l.parts * static_cast<int64_t>(sizeof(State))}, kByte, out.device());
    totals = static_cast<State*>(scratch.data_ptr());
    launch(operation, c, {l.count * l.parts, threads}, fold_parts<S>, s, l, totals);
  }
  launch(operation, c, {l.count * l.parts, threads}, scan_by_blocks<S>, s, l, totals, to);
}

void cumsum(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), ScanTypes{}, "cumsum",
           [&]<class T>(Type<T>) { scan("cumsum", Sums<T>{in.ptr<T>()}, out, dim, reverse); });
}
void cumprod(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), ScanTypes{}, "cumprod",
           [&]<class T>(Type<T>) { scan("cumprod", Products<T>{{in.ptr<T>()}}, out, dim, reverse); });
}
void linear_recurrence(const Tensor& out, const Tensor& a, const Tensor& b, int64_t dim, bool reverse) {
  dispatch(out.dtype(), FloatTypes{}, "linear_recurrence", [&]<class T>(Type<T>) {
    scan("linear_recurrence", Recurrences<T>{a.ptr<T>(), b.ptr<T>()}, out, dim, reverse);
  });
}

void logcumsumexp(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), FloatTypes{}, "logcumsumexp",
           [&]<class T>(Type<T>) { scan("logcumsumexp", LogSums<T>{in.ptr<T>()}, out, dim, reverse); });
}
void cummax(const Tensor& out, const Tensor& in, int64_t dim, bool smallest) {
  const LineSplit split(in.sizes(), dim);
  dispatch(in.dtype(), ComputedTypes{}, "cummax", [&]<class T>(Type<T>) {
    using A = std::conditional_t<std::is_integral_v<T>, int64_t, T>;
    const T* from = in.ptr<T>();
    if (smallest)
      scan("cummin", Extremes<T, A, true>{from, split.n, split.inner}, out, dim, false);
    else
      scan("cummax", Extremes<T, A, false>{from, split.n, split.inner}, out, dim, false);
  });
}

}  // namespace

constinit const ScanKernels scan_kernels{.cumsum = cumsum,
                                         .cumprod = cumprod,
                                         .linear_recurrence = linear_recurrence,
                                         .logcumsumexp = logcumsumexp,
                                         .cummax = cummax};

}  // namespace tandem::cuda_impl
