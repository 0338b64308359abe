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
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
  T x[kCount];
};

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
  __device__ static T map(const MaxSum<T>& s, T x, T) { return (x - s.max) - std::log(s.sum); }
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

template <class T>
struct Inputs {
  const T* at[2];
};

// Element kCount i … of a row goes to lane i % lanes, and only that lane reads its part of the copy.
template <class Rule, int kCount>
__global__ void __launch_bounds__(kLineThreads)
    rows(typename Rule::T* out, Inputs<typename Rule::T> in, int64_t count, int64_t n, int lanes, bool cached) {
  using T = typename Rule::T;
  using Elements = Pack<T, kCount>;
  __shared__ typename Rule::State shared[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1), group = thread / lanes;
  const int64_t row = int64_t{blockIdx.x} * (kLineThreads / lanes) + group, start = row * n,
                packs = row < count ? n / kCount : 0;
  Elements* const copy =
      cached ? reinterpret_cast<Elements*>(dynamic_shared<T>() + group * n * Rule::kInputs) : nullptr;
  typename Rule::State state = Rule::none();
  for (int64_t i = lane; i < packs; i += lanes) {
    Elements x[Rule::kInputs];
    TANDEM_UNROLL
    for (int j = 0; j < Rule::kInputs; ++j) {
      x[j] = reinterpret_cast<const Elements*>(in.at[j] + start)[i];
      if (cached) copy[j * packs + i] = x[j];
    }
    Rule::take(state, x);
  }
  state = lanes <= 32 ? fold_warp(state, Plus(), lanes) : fold_block(state, shared, Plus());
  for (int64_t i = lane; i < packs; i += lanes) {
    Elements x[2] = {}, y;
    TANDEM_UNROLL
    for (int j = 0; j < Rule::kInputs; ++j)
      x[j] = cached ? copy[j * packs + i] : reinterpret_cast<const Elements*>(in.at[j] + start)[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) y.x[k] = Rule::map(state, x[0].x[k], x[1].x[k]);
    reinterpret_cast<Elements*>(out + start)[i] = y;
  }
}

template <class Rule>
__global__ void __launch_bounds__(kLineThreads)
    columns(typename Rule::T* out, Inputs<typename Rule::T> in, int64_t lines, int64_t n, int64_t inner, int rows) {
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
      for (int j = 0; j < Rule::kInputs; ++j) x[j].x[0] = in.at[j][start + i * inner];
      Rule::take(state, x);
    }
  shared[thread] = state;
  __syncthreads();
  state = shared[thread % across];
  for (int r = 1; r < rows; ++r) state = state + shared[r * across + thread % across];
  if (!active) return;
  for (int64_t i = row; i < n; i += rows) {
    const int64_t at = start + i * inner;
    out[at] = Rule::map(state, in.at[0][at], Rule::kInputs == 2 ? in.at[1][at] : T(0));
  }
}

template <class Rule>
void run(const Tensor& out, int64_t dim, Inputs<typename Rule::T> in) {
  using T = typename Rule::T;
  const LineSplit s(out.sizes(), dim);
  if (out.numel() == 0) return;
  Context& c = context(out.device());
  T* to = out.ptr<T>();
  if (s.inner > 1) {
    const int rows = column_rows(s.n);
    launch(Rule::name, c, {ceil_div(s.lines(), kLineThreads / rows), kLineThreads}, columns<Rule>, to, in, s.lines(),
           s.n, s.inner, rows);
    return;
  }
  constexpr int kVector = 16 / sizeof(T);
  bool vector = s.n % kVector == 0;
  for (const T* p : {static_cast<const T*>(to), in.at[0], in.at[1]})
    vector = vector && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  const RowGeometry g = make_row_geometry(s.n, vector ? kVector : 1, Rule::kInputs, sizeof(T));
  launch(Rule::name, c, {ceil_div(s.outer, g.rows_of_block()), kLineThreads, g.shared_bytes},
         vector ? rows<Rule, kVector> : rows<Rule, 1>, to, in, s.outer, s.n, g.lanes, g.cached());
}

template <template <class> class Rule>
void forward(const Tensor& out, const Tensor& in, int64_t dim) {
  dispatch(in.dtype(), FloatTypes{}, Rule<float>::name, [&]<class T>(Type<T>) {
    run<Rule<T>>(out, dim, {{in.ptr<T>(), nullptr}});
  });
}
template <template <class> class Rule>
void backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim) {
  dispatch(out.dtype(), FloatTypes{}, Rule<float>::name, [&]<class T>(Type<T>) {
    run<Rule<T>>(grad_in, dim, {{grad.ptr<T>(), out.ptr<T>()}});
  });
}

}  // namespace

constinit const SoftmaxKernels softmax_kernels{
    .softmax = forward<Softmax>,
    .log_softmax = forward<LogSoftmax>,
    .softmax_backward = backward<SoftmaxBackward>,
    .log_softmax_backward = backward<LogSoftmaxBackward>,
};

}  // namespace tandem::cuda_impl
