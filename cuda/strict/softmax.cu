// Softmax and log-softmax, forward and backward, in the CPU's order (core/cpu/softmax.cpp).
//
// A tensor is viewed as [outer, n, inner]. Rows (inner == 1): lanes of threads are the CPU's, and several groups of lanes
// share the blocks of a long row. Columns have one thread each.
#include "tandem/cuda/device.h"

#include "tandem/cuda/strict/softmax.h"

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/line_split.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/strict/maximum.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl::strict {
namespace {

using softmax_rules::kBlock, softmax_rules::kLanes, softmax_rules::larger;

// One line, whose elements are `step` apart.
template <class Rule, class T>
struct Line {
  const T *x, *y;
  int64_t step;
  T max = 0;

  __device__ T value(int64_t i) const { return Rule::kShifted ? x[i * step] - max : x[i * step]; }
  __device__ T term(int64_t i) const { return Rule::term(value(i), y[i * step]); }
  __device__ T mapped(int64_t i, T total) const {
    return Rule::map(Rule::kKept ? term(i) : value(i), y[i * step], total);
  }
};

// The sum of the terms of a block, in all lanes of a group; 0 of none, n <= 0. To be called by whole warps.
template <class Rule, class T>
__device__ T block_sum(const Line<Rule, T>& line, int64_t from, int64_t n, int lane) {
  const int64_t whole = n / kLanes<T> * kLanes<T>;
  T sum = 0;
  for (int64_t i = lane; i < whole; i += kLanes<T>) sum += line.term(from + i);
  sum = T(0) + fold_warp(sum, Plus(), kLanes<T>);
  for (int64_t i = whole; i < n; ++i) sum += line.term(from + i);
  return sum;
}

// `groups` groups of lanes have a row: one, or all of a block of threads.
template <class Rule, class T>
__global__ void __launch_bounds__(kLineThreads)
    rows(T* out, const T* x, const T* y, int64_t count, int64_t n, int groups) {
  constexpr int kGroups = kLineThreads / kLanes<T>;
  __shared__ T shared[kGroups];
  const int lane = static_cast<int>(threadIdx.x) % kLanes<T>, group = static_cast<int>(threadIdx.x) / kLanes<T>;
  const int64_t given = groups == 1 ? int64_t{blockIdx.x} * kGroups + group : blockIdx.x,
                row = given < count ? given : count - 1;  // the last block: some groups compute the last row again
  const int first = groups == 1 ? lane : static_cast<int>(threadIdx.x), apart = groups * kLanes<T>;
  Line<Rule, T> line{x + row * n, y + row * n, 1};
  if constexpr (Rule::kShifted) {
    T max = -INFINITY;
    for (int64_t i = first; i < n; i += apart) max = larger(max, line.x[i]);
    line.max = groups == 1 ? fold_warp(max, Larger(), kLanes<T>) : fold_block(max, shared, Larger());
  }
  T sum = 0;
  for (int64_t round = 0; round < n; round += groups * kBlock) {
    const int64_t from = groups == 1 ? round : round + group * kBlock;
    const T part = block_sum(line, from, n - from < kBlock ? n - from : kBlock, lane);
    if (groups == 1) {
      sum += part;
      continue;
    }
    __syncthreads();  // shared may be reused
    shared[group] = part;
    __syncthreads();
    for (int g = 0; g < groups && round + g * kBlock < n; ++g) sum += shared[g];
  }
  __syncwarp();  // `out` may be an input, of which lanes read the last elements of others
  const T total = Rule::total(sum);
  if (given < count)
    for (int64_t i = first; i < n; i += apart) out[row * n + i] = line.mapped(i, total);
}

template <class Rule, class T>
__global__ void __launch_bounds__(kLineThreads)
    columns(T* out, const T* x, const T* y, int64_t lines, int64_t n, int64_t inner) {
  const int64_t at = int64_t{blockIdx.x} * kLineThreads + threadIdx.x;
  if (at >= lines) return;
  const int64_t plane = at / inner, start = plane * n * inner + (at - plane * inner);
  Line<Rule, T> line{x + start, y + start, inner};
  if constexpr (Rule::kShifted) {
    line.max = line.x[0];
    for (int64_t i = 1; i < n; ++i) line.max = larger(line.max, line.x[i * inner]);
  }
  T sum = 0;
  for (int64_t i = 0; i < n; ++i) sum += line.term(i);
  const T total = Rule::total(sum);
  for (int64_t i = 0; i < n; ++i) out[start + i * inner] = line.mapped(i, total);
}

template <template <class> class Rule>
void apply(const Tensor& out, const Tensor& x, const Tensor& y, int64_t dim) {
  if (out.numel() == 0) return;
  const LineSplit s(out.sizes(), dim);
  Context& c = context(out.device());
  dispatch(out.dtype(), FloatTypes{}, Rule<float>::name, [&]<class T>(Type<T>) {
    if (s.inner > 1)
      return launch(Rule<T>::name, c, grid_for(s.lines(), 1, kLineThreads), columns<Rule<T>, T>, out.ptr<T>(),
                    x.ptr<T>(), y.ptr<T>(), s.lines(), s.n, s.inner);
    const int groups = s.n > kBlock ? kLineThreads / kLanes<T> : 1;
    launch(Rule<T>::name, c, {groups == 1 ? ceil_div(s.outer, kLineThreads / kLanes<T>) : s.outer, kLineThreads},
           rows<Rule<T>, T>, out.ptr<T>(), x.ptr<T>(), y.ptr<T>(), s.outer, s.n, groups);
  });
}

template <template <class> class Rule>
void apply_forward(const Tensor& out, const Tensor& in, int64_t dim) {
  apply<Rule>(out, in, in, dim);
}

}  // namespace

// Half types are converted to float beforehand, as on the CPU.
void softmax(const Tensor& out, const Tensor& in, int64_t dim) {
  tandem::detail::call_in_float(apply_forward<softmax_rules::Softmax>, {}, out, in, dim);
}
void log_softmax(const Tensor& out, const Tensor& in, int64_t dim) {
  tandem::detail::call_in_float(apply_forward<softmax_rules::LogSoftmax>, {}, out, in, dim);
}
void softmax_backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim) {
  tandem::detail::call_in_float(apply<softmax_rules::SoftmaxBackward>, {}, grad_in, grad, out, dim);
}
void log_softmax_backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim) {
  tandem::detail::call_in_float(apply<softmax_rules::LogSoftmaxBackward>, {}, grad_in, grad, out, dim);
}

}  // namespace tandem::cuda_impl::strict
