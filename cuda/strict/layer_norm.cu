// Layer normalisation in the order of core/cpu/layer_norm.cpp. Half types are converted as they are read and rounded
// once.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/formulas/math.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/layer_norm_rows.h"
#include "tandem/cuda/strict/layer_norm.h"
#include "tandem/cuda/strict/runs.h"

namespace tandem::cuda_impl::strict {
namespace {

// `lanes` threads have a row; those beyond the last row have one without elements.
struct RowOf {
  int lane;
  int64_t row, n;
  __device__ RowOf(int64_t rows, int64_t n, int lanes)
      : lane(static_cast<int>(threadIdx.x) % lanes),
        row(int64_t{blockIdx.x} * (kLineThreads / lanes) + static_cast<int>(threadIdx.x) / lanes),
        n(row < rows ? n : 0) {}
};

template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads) normalize(const NormalizeRows<S> p) {
  constexpr int kAtOnce = kLineThreads / kRunLanes<T>;
  __shared__ T shared_sum[kAtOnce];
  __shared__ RowSums<T> shared_sums[kAtOnce];
  const RowOf of(p.rows, p.n, p.lanes);
  const S* x = p.in + (of.n > 0 ? of.row * p.n : 0);
  const T count = static_cast<T>(p.n);
  const T mean = sum_runs<T>(of.n, p.lanes, shared_sum,
                             [&](int64_t begin, int64_t n) {
                               return sum_run<T, T>(n, [&](T& sum, int64_t i) { sum += static_cast<T>(x[begin + i]); });
                             }) /
                 count;
  const RowSums<T> sums = sum_runs<T>(of.n, p.lanes, shared_sums, [&](int64_t begin, int64_t n) {
    return sum_run<T, RowSums<T>>(n, [&](RowSums<T>& sum, int64_t i) {
      const T far = static_cast<T>(x[begin + i]) - mean;
      sum = {sum.first + far, math::fma(far, far, sum.second)};
    });
  });
  if (of.n == 0) return;
  T statistics[3];
  store_row_statistics(statistics, mean, sums.first, sums.second, count, p.eps);
  if (of.lane < 3) p.statistics[3 * of.row + of.lane] = statistics[of.lane];
  const Row<T> normal(statistics);
  for (int64_t i = of.lane; i < of.n; i += p.lanes) {
    T y = normal(static_cast<T>(x[i]));
    if (p.weight != nullptr) y *= p.weight[i];
    if (p.bias != nullptr) y += p.bias[i];
    p.out[of.row * p.n + i] = static_cast<S>(y);
  }
}

template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads) input_gradient(const RowGradients<S> p) {
  __shared__ RowSums<T> shared[kLineThreads / kRunLanes<T>];
  const RowOf of(p.rows, p.n, p.lanes);
  const int64_t start = of.n > 0 ? of.row * p.n : 0;
  const S *x = p.in + start, *g = p.grad + start;
  const Row<T> normal(p.statistics + (of.n > 0 ? 3 * of.row : 0));
  const auto u = [&](int64_t i) { return static_cast<T>(g[i]) * (p.weight != nullptr ? p.weight[i] : T(1)); };
  const auto add = [&](RowSums<T>& sum, int64_t i) {
    const T value = u(i);
    sum = {sum.first + value, math::fma(value, normal(static_cast<T>(x[i])), sum.second)};
  };
  // Only the last run has elements that fill no lanes.
  RowSums<T> sums = sum_runs<T>(of.n, p.lanes, shared, [&](int64_t begin, int64_t n) {
    return sum_lanes<T, RowSums<T>>(n, [&](RowSums<T>& sum, int64_t i) { add(sum, begin + i); });
  });
  sums = sum_rest<T>(of.n, sums, add);
  const T level = sums.first / static_cast<T>(p.n), slope = sums.second / static_cast<T>(p.n);
  for (int64_t i = of.lane; i < of.n; i += p.lanes)
    p.out[start + i] = static_cast<S>(normal.scale * ((u(i) - level) - normal(static_cast<T>(x[i])) * slope));
}

constexpr int kGroupColumns = kLineThreads / static_cast<int>(kNormGroups);

// A thread sums a column over a group of rows.
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    parameter_gradients(T* grad_weight, T* grad_bias, const S* grad, const S* in, const T* statistics, int64_t rows,
                        int64_t n) {
  __shared__ RowSums<T> shared[kLineThreads];
  const int thread = static_cast<int>(threadIdx.x), group = thread / kGroupColumns;
  const int64_t column = int64_t{blockIdx.x} * kGroupColumns + thread % kGroupColumns;
  const int64_t size = (rows + kNormGroups - 1) / kNormGroups, from = group * size,
                until = from + size < rows ? from + size : rows;
  RowSums<T> sums{0, 0};
  if (column < n)
    for (int64_t r = from; r < until; ++r) {
      const T g = static_cast<T>(grad[r * n + column]);
      sums = sums + RowSums<T>{g * Row<T>(statistics + 3 * r)(static_cast<T>(in[r * n + column])), g};
    }
  shared[thread] = sums;
  __syncthreads();
  if (group != 0 || column >= n) return;
  RowSums<T> total{0, 0};
  for (int k = thread; k < kLineThreads; k += kGroupColumns) total = total + shared[k];
  if (grad_weight != nullptr) grad_weight[column] = total.first;
  if (grad_bias != nullptr) grad_bias[column] = total.second;
}

// ---- host

template <class T>
int lanes_of(int64_t n) {
  return n <= kNormRun ? kRunLanes<T> : kLineThreads;
}
Grid grid_of(int64_t rows, int lanes) { return {ceil_div(rows, int64_t{kLineThreads / lanes}), kLineThreads}; }

}  // namespace

void layer_norm(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight,
                const Tensor& bias, double eps) {
  const Tensor weights = tandem::detail::computed(weight), biases = tandem::detail::computed(bias);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const int64_t rows = input.size(0), n = input.size(1);
    const int lanes = lanes_of<T>(n);
    launch("layer_norm", context(out.device()), grid_of(rows, lanes), normalize<S>,
           NormalizeRows<S>{out.ptr<S>(), statistics.ptr<T>(), input.ptr<S>(), data_or_null<T>(weights),
                            data_or_null<T>(biases), static_cast<T>(eps), rows, n, lanes});
  });
}

void layer_norm_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                         const Tensor& grad_output, const Tensor& input, const Tensor& statistics,
                         const Tensor& weight) {
  const Tensor weights = tandem::detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const int64_t rows = input.size(0), n = input.size(1);
    const S *g = grad_output.ptr<S>(), *x = input.ptr<S>();
    const T* of_rows = statistics.ptr<T>();
    if (grad_weight.defined() || grad_bias.defined())
      launch("layer_norm_backward", c, {ceil_div(n, int64_t{kGroupColumns}), kLineThreads}, parameter_gradients<S>,
             data_or_null<T>(grad_weight), data_or_null<T>(grad_bias), g, x, of_rows, rows, n);
    if (!grad_input.defined()) return;
    const int lanes = lanes_of<T>(n);
    launch("layer_norm_backward", c, grid_of(rows, lanes), input_gradient<S>,
           RowGradients<S>{grad_input.ptr<S>(), g, x, of_rows, data_or_null<T>(weights), rows, n, lanes});
  });
}

}  // namespace tandem::cuda_impl::strict
