// Softmax and log-softmax, forward and backward, on CUDA.
//
// A tensor is viewed as [outer, n, inner]. Rows (inner == 1) are read from memory once if they fit in shared
// memory; columns are read twice, side by side. A rule folds a line into its state and then maps every
// element.
#include "tandem/cuda/device.h"

#include "tandem/core/backend/softmax.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/ops/softmax_max_sum.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/strict/softmax.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class T_>
struct Softmax {
  using T = T_;
  using State = MaxSum<T>;
  static constexpr const char* name = "softmax";
  static constexpr int kInputs = 1;
  __device__ static State none() { return State::none(); }
  template <int kCount>
  __device__ static void take(State& s, const Pack<T, kCount> (&in)[kInputs]) {
    s.take(in[0].x);
  }
  __device__ static T map(const State& s, T x, T) { return fast_exp(x - s.max) / s.sum; }
};

template <class T>
struct LogSoftmax : Softmax<T> {
  static constexpr const char* name = "log_softmax";
  __device__ static T map(const MaxSum<T>& s, T x, T) { return (x - s.max) - math::log(s.sum); }
};

// Inputs: grad, out.
template <class T_>
struct SoftmaxBackward {
  using T = T_;
  using State = T;
  static constexpr const char* name = "softmax_backward";
  static constexpr int kInputs = 2;
  __device__ static State none() { return 0; }
  template <int kCount>
  __device__ static void take(State& s, const Pack<T, kCount> (&in)[kInputs]) {
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) s += in[0].x[k] * in[1].x[k];
  }
  __device__ static T map(State s, T g, T y) { return y * (g - s); }
};

template <class T>
struct LogSoftmaxBackward : SoftmaxBackward<T> {
  static constexpr const char* name = "log_softmax_backward";
  template <int kCount>
  __device__ static void take(T& s, const Pack<T, kCount> (&in)[2]) {
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) s += in[0].x[k];
  }
  __device__ static T map(T s, T g, T y) { return g - fast_exp(y) * s; }
};

template <class S>
struct Inputs {
  const S* at[2];
};

template <class T, class S, int kCount>
__device__ Pack<T, kCount> converted(const Pack<S, kCount>& from) {
  Pack<T, kCount> to;
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) to.x[k] = static_cast<T>(from.x[k]);
  return to;
}

// Elements are stored as S. Element kCount i … of a row goes to lane i % lanes, and only that lane reads its part of the
// copy.
template <class Rule, class S, int kCount>
__global__ void __launch_bounds__(kLineThreads)
    rows(S* out, Inputs<S> in, int64_t count, int64_t n, int lanes, bool cached) {
  using T = typename Rule::T;
  using Elements = Pack<S, kCount>;
  __shared__ typename Rule::State shared[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1), group = thread / lanes;
  const int64_t row = int64_t{blockIdx.x} * (kLineThreads / lanes) + group, start = row * n,
                packs = row < count ? n / kCount : 0;
  Elements* const copy =
      cached ? reinterpret_cast<Elements*>(dynamic_shared<S>() + group * n * Rule::kInputs) : nullptr;
  typename Rule::State state = Rule::none();
  for (int64_t i = lane; i < packs; i += lanes) {
    Pack<T, kCount> x[Rule::kInputs];
    TANDEM_UNROLL
    for (int j = 0; j < Rule::kInputs; ++j) {
      const Elements stored = reinterpret_cast<const Elements*>(in.at[j] + start)[i];
      if (cached) copy[j * packs + i] = stored;
      x[j] = converted<T>(stored);
    }
    Rule::take(state, x);
  }
  state = lanes <= 32 ? fold_warp(state, Plus(), lanes) : fold_block(state, shared, Plus());
  for (int64_t i = lane; i < packs; i += lanes) {
    Pack<T, kCount> x[2] = {}, y;
    TANDEM_UNROLL
    for (int j = 0; j < Rule::kInputs; ++j)
      x[j] = converted<T>(cached ? copy[j * packs + i] : reinterpret_cast<const Elements*>(in.at[j] + start)[i]);
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) y.x[k] = Rule::map(state, x[0].x[k], x[1].x[k]);
    reinterpret_cast<Elements*>(out + start)[i] = converted<S>(y);
  }
}

template <class Rule, class S>
__global__ void __launch_bounds__(kLineThreads)
    columns(S* out, Inputs<S> in, int64_t lines, int64_t n, int64_t inner, int rows) {
  using T = typename Rule::T;
  __shared__ typename Rule::State shared[kLineThreads];
  const int thread = static_cast<int>(threadIdx.x), across = kLineThreads / rows, row = thread / across;
  const int64_t line = int64_t{blockIdx.x} * across + thread % across;
  const bool active = line < lines;
  const int64_t plane = line / inner, start = plane * n * inner + (line - plane * inner);
  typename Rule::State state = Rule::none();
  if (active)
    for (int64_t i = row; i < n; i += rows) {
      Pack<T, 1> x[Rule::kInputs];
      for (int j = 0; j < Rule::kInputs; ++j) x[j].x[0] = static_cast<T>(in.at[j][start + i * inner]);
      Rule::take(state, x);
    }
  shared[thread] = state;
  __syncthreads();
  state = shared[thread % across];
  for (int r = 1; r < rows; ++r) state = state + shared[r * across + thread % across];
  if (!active) return;
  for (int64_t i = row; i < n; i += rows) {
    const int64_t at = start + i * inner;
    const T second = Rule::kInputs == 2 ? static_cast<T>(in.at[1][at]) : T(0);
    out[at] = static_cast<S>(Rule::map(state, static_cast<T>(in.at[0][at]), second));
  }
}

template <class Rule, class S>
void run(const Tensor& out, int64_t dim, Inputs<S> in) {
  const LineSplit s(out.sizes(), dim);
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  S* to = out.ptr<S>();
  if (s.inner > 1) {
    const int rows = column_rows(s.n);
    launch(Rule::name, c, {ceil_div(s.lines(), kLineThreads / rows), kLineThreads}, columns<Rule, S>, to, in, s.lines(),
           s.n, s.inner, rows);
    return;
  }
  constexpr int kVector = 16 / sizeof(S);
  bool vector = s.n % kVector == 0;
  for (const S* p : {static_cast<const S*>(to), in.at[0], in.at[1]})
    vector = vector && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  const RowGeometry g = make_row_geometry(s.n, vector ? kVector : 1, Rule::kInputs, sizeof(S));
  launch(Rule::name, c, {ceil_div(s.outer, g.rows_of_block()), kLineThreads, g.shared_bytes},
         vector ? rows<Rule, S, kVector> : rows<Rule, S, 1>, to, in, s.outer, s.n, g.lanes, g.cached());
}

template <template <class> class Rule, auto strict>
void forward(const Tensor& out, const Tensor& in, int64_t dim) {
  if (is_strict()) return strict(out, in, dim);
  dispatch(in.dtype(), StoredFloats{}, Rule<float>::name, [&]<class S>(Type<S>) {
    run<Rule<computed_t<S>>>(out, dim, Inputs<S>{{in.ptr<S>(), nullptr}});
  });
}
template <template <class> class Rule, auto strict>
void backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim) {
  if (is_strict()) return strict(grad_in, grad, out, dim);
  dispatch(out.dtype(), StoredFloats{}, Rule<float>::name, [&]<class S>(Type<S>) {
    run<Rule<computed_t<S>>>(grad_in, dim, Inputs<S>{{grad.ptr<S>(), out.ptr<S>()}});
  });
}

}  // namespace

constinit const SoftmaxKernels softmax_kernels{
    .softmax = {forward<Softmax, strict::softmax>, kTakesHalf},
    .log_softmax = {forward<LogSoftmax, strict::log_softmax>, kTakesHalf},
    .softmax_backward = {backward<SoftmaxBackward, strict::softmax_backward>, kTakesHalf},
    .log_softmax_backward = {backward<LogSoftmaxBackward, strict::log_softmax_backward>, kTakesHalf},
};

}  // namespace tandem::cuda_impl
