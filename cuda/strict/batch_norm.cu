// Statistics and gradients of batch normalisation in the order of core/cpu/batch_norm.cpp: the sums of each run of a
// channel, in the computed type, are added in double one after the other. Runs are summed by as many threads as they
// have lanes, and added by one thread a channel.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/half_calls.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/formulas/math.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/layer_norm_rows.h"
#include "tandem/cuda/strict/batch_norm.h"
#include "tandem/cuda/strict/runs.h"

namespace tandem::cuda_impl::strict {
namespace {

// The runs of the channels of [N, C, S]: `lanes` threads have one, and each run has `values` pairs of sums.
struct Runs {
  int64_t channels, plane, of_plane, count;  ///< runs of a plane and of a channel
  int lanes, values;

  Runs(const Tensor& input, int lanes, int values)
      : channels(input.size(1)),
        plane(input.size(2)),
        of_plane(ceil_div(plane, kNormRun)),
        count(input.size(0) * of_plane),
        lanes(plane < lanes ? 1 : lanes),
        values(plane < lanes ? 1 : values) {}
  Grid grid() const { return grid_for(count * channels * lanes, 1, kLineThreads); }
};

// The run of a thread; one without elements beyond the last.
struct RunOf {
  int lane;
  int64_t run, channel, start, n = 0;
  __device__ explicit RunOf(const Runs& r) {
    const int64_t thread = int64_t{blockIdx.x} * kLineThreads + threadIdx.x, number = thread / r.lanes;
    lane = static_cast<int>(thread % r.lanes);
    run = number / r.channels;
    channel = number % r.channels;
    const int64_t image = run / r.of_plane, from = run % r.of_plane * kNormRun, left = r.plane - from;
    start = (image * r.channels + channel) * r.plane + from;
    if (run < r.count) n = left < kNormRun ? left : kNormRun;
  }
  /// Where value `k` of the run is: neighbouring threads of the join have neighbouring channels.
  __device__ int64_t place(const Runs& r, int k) const { return (run * r.values + k) * r.channels + channel; }
};

// The sums of x - mean and of its squares; the sums of x without means.
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads) moments_of_runs(RowSums<T>* sums, const S* in, const T* means, Runs r) {
  const RunOf of(r);
  const T mean = means != nullptr && of.n > 0 ? means[of.channel] : T(0);
  const auto add = [&](RowSums<T>& sum, int64_t i) {
    const T x = static_cast<T>(in[of.start + i]), far = means != nullptr ? x - mean : x;
    sum = {sum.first + far, math::fma(far, far, sum.second)};
  };
  RowSums<T> sum = sum_rest<T>(of.n, RowSums<T>{0, 0}, add);
  if (r.lanes > 1) sum = sum + sum_lanes<T, RowSums<T>>(of.n, add);
  if (of.n > 0 && of.lane == 0) sums[of.place(r, 0)] = sum;
}

// The sums of g h, with h = (x - mean) / s, and of g: those of each lane, and those of the rest.
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    gradients_of_runs(RowSums<T>* sums, const S* in, const S* grad, const T* means, const T* variances, T eps, Runs r) {
  const RunOf of(r);
  if (of.n == 0) return;
  const T mean = means[of.channel], inverse = norm_inverse(variances[of.channel], eps);
  const auto sum = [&](int64_t from, int64_t until, int step) {
    RowSums<T> total{0, 0};
    for (int64_t i = from; i < until; i += step) {
      const T g = static_cast<T>(grad[of.start + i]), h = (static_cast<T>(in[of.start + i]) - mean) * inverse;
      total = {math::fma(g, h, total.first), total.second + g};
    }
    return total;
  };
  const int64_t whole = of.n - of.n % kNormGradientLanes;
  if (r.lanes > 1) sums[of.place(r, of.lane)] = sum(of.lane, whole, kNormGradientLanes);
  if (of.lane == 0) sums[of.place(r, r.values - 1)] = sum(whole, of.n, 1);
}

// finish(channel, both totals).
template <class T, class F>
__global__ void __launch_bounds__(kLineThreads) join(const RowSums<T>* sums, Runs r, F finish) {
  constexpr int kAtOnce = 8;  // loads
  const int64_t c = int64_t{blockIdx.x} * kLineThreads + threadIdx.x, all = r.count * r.values;
  if (c >= r.channels) return;
  double first = 0, second = 0;
  for (int64_t k = 0; k < all; k += kAtOnce) {
    RowSums<T> next[kAtOnce];
    TANDEM_UNROLL
    for (int i = 0; i < kAtOnce; ++i)
      if (k + i < all) next[i] = sums[(k + i) * r.channels + c];
    TANDEM_UNROLL
    for (int i = 0; i < kAtOnce; ++i) {
      if (k + i >= all) continue;
      first += static_cast<double>(next[i].first);
      second += static_cast<double>(next[i].second);
    }
  }
  finish(c, first, second);
}

template <class T>
struct RoundedMean {
  T* mean;
  double count;
  __device__ void operator()(int64_t c, double sum, double) const { mean[c] = static_cast<T>(sum / count); }
};

// Finds the rounded mean in place of the mean.
template <class T>
struct MeanAndVariance {
  T *mean, *variance;
  double count;
  __device__ void operator()(int64_t c, double sum, double squares) const {
    store_batch_statistics(mean + c, variance + c, mean[c], sum, squares, count);
  }
};

template <class T>
struct Gradients {
  T *weight, *bias;  // may be null
  RowSums<T>* flow;
  const T* variance;
  T eps;
  double count;
  __device__ void operator()(int64_t c, double product, double plain) const {
    if (weight != nullptr) weight[c] = static_cast<T>(product);
    if (bias != nullptr) bias[c] = static_cast<T>(plain);
    flow[c] = {static_cast<T>(plain / count), static_cast<T>(product / count) * norm_inverse(variance[c], eps)};
  }
};

template <class T>
Tensor memory_of(const Runs& r, Device device) {
  return empty_raw({std::max<int64_t>(1, 2 * r.count * r.values * r.channels)}, scalar_type_of<T>, device);
}
template <class T, class F>
void join_runs(const char* operation, Context& c, const RowSums<T>* sums, const Runs& r, const F& finish) {
  launch(operation, c, grid_for(r.channels, 1, kLineThreads), join<T, F>, sums, r, finish);
}
double count_of(const Tensor& input) { return static_cast<double>(input.size(0) * input.size(2)); }

}  // namespace

void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  constexpr const char* kName = "batch_norm_statistics";
  dispatch(input.dtype(), StoredFloats{}, kName, [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const Runs r(input, kRunLanes<T>, 1);
    const Tensor memory = memory_of<T>(r, input.device());
    auto* sums = reinterpret_cast<RowSums<T>*>(memory.ptr<T>());
    T* means = mean.ptr<T>();
    launch(kName, c, r.grid(), moments_of_runs<S>, sums, input.ptr<S>(), nullptr, r);
    join_runs<T>(kName, c, sums, r, RoundedMean<T>{means, count_of(input)});
    launch(kName, c, r.grid(), moments_of_runs<S>, sums, input.ptr<S>(), means, r);
    join_runs<T>(kName, c, sums, r, MeanAndVariance<T>{means, variance.ptr<T>(), count_of(input)});
  });
}

void batch_gradients(const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& flow, const Tensor& grad_output,
                     const Tensor& input, const Tensor& mean, const Tensor& variance, double eps) {
  constexpr const char* kName = "batch_norm_backward";
  dispatch(input.dtype(), StoredFloats{}, kName, [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const Runs r(input, kNormGradientLanes, kNormGradientLanes + 1);
    const Tensor memory = memory_of<T>(r, input.device());
    auto* sums = reinterpret_cast<RowSums<T>*>(memory.ptr<T>());
    launch(kName, c, r.grid(), gradients_of_runs<S>, sums, input.ptr<S>(), grad_output.ptr<S>(), mean.ptr<T>(),
           variance.ptr<T>(), static_cast<T>(eps), r);
    join_runs<T>(kName, c, sums, r,
                 Gradients<T>{data_or_null<T>(grad_weight), data_or_null<T>(grad_bias),
                              reinterpret_cast<RowSums<T>*>(flow.ptr<T>()), variance.ptr<T>(), static_cast<T>(eps),
                              count_of(input)});
  });
}

}  // namespace tandem::cuda_impl::strict
