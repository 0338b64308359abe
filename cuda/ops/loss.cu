// Losses over classes on CUDA. Nothing is read back to the host: the device reports a target out of range,
// and its term and gradient are 0.
//
// `lanes` threads process one position. The grid of the forward kernels depends only on the sizes. Each block
// sums its terms, and a second kernel sums the results of the blocks, all in double and in a fixed order.
//
// Scores are stored as S, and T is computed: S is a half type where T is float, and then only the scores and their
// gradient have it.
#include "tandem/cuda/device.h"

#include <algorithm>

#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/ops/loss_places.h"
#include "tandem/cuda/ops/loss_scores.h"
#include "tandem/cuda/strict/loss.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

constexpr int64_t kMaxBlocks = 4096;
constexpr int kMaxThreads = 1024;  // of a block that sums all terms alone

template <class T>
struct Totals {
  T *out, *weight;
  double* partial;  // [blocks, 2]; null for a single block
  double term = 0, total_weight = 0;

  // Finishes a whole block; its first thread writes the result.
  __device__ void finish(const Places<T>& p) {
    __shared__ double shared[2][kMaxThreads / 32];
    term = fold_block(term, shared[0], Plus());
    total_weight = fold_block(total_weight, shared[1], Plus());
    if (threadIdx.x != 0) return;
    if (partial != nullptr) {
      partial[2 * blockIdx.x] = term;
      partial[2 * blockIdx.x + 1] = total_weight;
    } else {
      write(p);
    }
  }
  __device__ void write(const Places<T>& p) const {
    *weight = static_cast<T>(total_weight);
    if (p.reduction == ReductionKind::kMean)
      *out = static_cast<T>(term / static_cast<double>(static_cast<T>(total_weight)));
    else if (p.reduction == ReductionKind::kSum)
      *out = static_cast<T>(term);
  }
};

template <class T>
__global__ void __launch_bounds__(kLineThreads) join(Places<T> p, Totals<T> totals, int blocks) {
  const double* partial = totals.partial;
  for (int b = static_cast<int>(threadIdx.x); b < blocks; b += kLineThreads) {
    totals.term += partial[2 * b];
    totals.total_weight += partial[2 * b + 1];
  }
  totals.partial = nullptr;
  totals.finish(p);
}

// The scores of a position at any distance from each other.
template <class T, class S>
__device__ void take_line(MaxSum<T>& state, const Places<T>& p, const S* row, int lane, int lanes) {
  int64_t c = lane;
  for (; c + 3 * lanes < p.classes; c += 4 * lanes) {
    T x[4];
    TANDEM_UNROLL
    for (int k = 0; k < 4; ++k) x[k] = static_cast<T>(row[(c + k * lanes) * p.inner]);
    state.take(x);
  }
  T rest[3][1];  // loaded together, because few threads wait for few scores
  TANDEM_UNROLL
  for (int k = 0; k < 3; ++k)
    rest[k][0] = c + k * lanes < p.classes ? static_cast<T>(row[(c + k * lanes) * p.inner]) : T(0);
  TANDEM_UNROLL
  for (int k = 0; k < 3; ++k)
    if (c + k * lanes < p.classes) state.take(rest[k]);
}

// The largest score and the sum of exp(x - largest), in all lanes of a position. No row: an inactive lane.
template <class T, class S>
__device__ MaxSum<T> fold_scores(const Places<T>& p, const S* row, const S* end, int lane, int lanes,
                                 MaxSum<T>* shared) {
  MaxSum<T> state = MaxSum<T>::none();
  if (row != nullptr) {
    bool packs = false;
    if constexpr (HalfNumber<S>) {
      packs = p.inner == 1;
      const auto take = [&](int64_t, const float(&x)[kPack]) { take_pack(state, x); };
      if (packs) for_packs<true>(row, p.classes, end, -INFINITY, lane, lanes, take);
    }
    if (!packs) take_line(state, p, row, lane, lanes);
  }
  if (lanes <= 32) return fold_warp(state, Plus(), lanes);
  __syncthreads();  // shared may be reused
  return fold_block(state, shared, Plus());
}

// smooth * sum over c of weight[c] (max - x[c] + log), in all lanes of a position.
template <class T, class S>
__device__ T smooth_term(const Places<T>& p, const S* row, int lane, int lanes, T max, T log, T* shared) {
  if (p.smooth == T(0)) return 0;
  T sum = 0;
  if (row != nullptr)
    for (int64_t c = lane; c < p.classes; c += lanes)
      sum += p.weight(c) * (max - static_cast<T>(row[c * p.inner]) + log);
  if (lanes > 32) __syncthreads();
  return p.smooth * (lanes <= 32 ? fold_warp(sum, Plus(), lanes) : fold_block(sum, shared, Plus()));
}

// Blocks of more threads leave each fewer registers, and so fewer loads on their way at once.
template <class T, class S, int kMostThreads>
__global__ void __launch_bounds__(kMostThreads)
    cross_entropy_terms(Places<T> p, Totals<T> totals, const S* x, T* norm, int lanes, Fault* fault) {
  __shared__ MaxSum<T> shared[kMaxThreads / 32];
  __shared__ T shared_sum[kMaxThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int at_once = static_cast<int>(blockDim.x) / lanes;
  const int64_t apart = int64_t{gridDim.x} * at_once;
  for (int64_t base = int64_t{blockIdx.x} * at_once; base < p.count; base += apart) {
    const int64_t i = base + thread / lanes;
    const S* row = i < p.count ? x + p.first(i) : nullptr;
    const bool counts = row != nullptr && p.counts(i);
    const T at_target = counts ? static_cast<T>(row[p.y[i] * p.inner]) : T(0);  // is on its way during the fold
    const MaxSum<T> state = fold_scores(p, row, x + p.count * p.classes, lane, lanes, shared);
    const T log = math::log(state.sum);
    const T smooth = smooth_term(p, row, lane, lanes, state.max, log, shared_sum);
    if (row == nullptr || lane != 0) continue;
    norm[i] = state.max;
    norm[p.count + i] = log;
    p.check(fault, i);
    T term = 0;
    if (counts) {
      const T w = p.weight(p.y[i]);
      term = p.sharp * w * (state.max - at_target + log) + smooth;
      totals.total_weight += static_cast<double>(w);
    }
    totals.term += static_cast<double>(term);
    if (p.reduction == ReductionKind::kNone) totals.out[i] = term;
  }
  totals.finish(p);
}

template <class T>
__global__ void __launch_bounds__(kMaxThreads) nll_terms(Places<T> p, Totals<T> totals, const T* x, Fault* fault) {
  const int64_t apart = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < p.count; i += apart) {
    p.check(fault, i);
    T term = 0;
    if (p.counts(i)) {
      const T w = p.weight(p.y[i]);
      term = -w * x[p.first(i) + p.y[i] * p.inner];
      totals.total_weight += static_cast<double>(w);
    }
    totals.term += static_cast<double>(term);
    if (p.reduction == ReductionKind::kNone) totals.out[i] = term;
  }
  totals.finish(p);
}

template <class T>
__device__ T gradient_of(const Places<T>& p, const T* g, int64_t place) {
  return g[p.reduction == ReductionKind::kNone ? place : 0];
}
template <class T>
__device__ T scale_of(const Places<T>& p, const T* total_weight) {
  return p.reduction == ReductionKind::kMean ? T(1) / *total_weight : T(1);
}

// What turns the scores of one position into their gradients.
template <class T, class S>
struct PlaceGradient {
  const Places<T>& p;
  bool counts;
  int64_t y;
  T factor, t, all, max, log;

  __device__ PlaceGradient(const Places<T>& places, int64_t i, const T* g, const T* norm, const T* total_weight,
                           T weights)
      : p(places), counts(p.counts(i)), y(p.y[i]), max(norm[i]), log(norm[p.count + i]) {
    factor = counts ? gradient_of(p, g, i) * scale_of(p, total_weight) : T(0);
    t = counts ? p.sharp * p.weight(y) : T(0);
    all = (t + p.smooth * weights) * factor;
  }
  // x: the scores of the classes from c on, replaced by their gradients.
  template <int kCount>
  __device__ void apply(int64_t c, T (&x)[kCount]) const {
    if (!counts) {
      TANDEM_UNROLL
      for (int k = 0; k < kCount; ++k) x[k] = 0;
      return;
    }
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) x[k] = all * exp_of<S>(x[k] - max - log);
    if (y >= c && y < c + kCount) {
      TANDEM_UNROLL
      for (int k = 0; k < kCount; ++k)
        if (c + k == y) x[k] -= t * factor;
    }
    if (p.smooth == T(0)) return;
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      if (c + k < p.classes) x[k] -= p.smooth * p.weight(c + k) * factor;
  }
};

// The rows of the gradient may be further apart than those of the scores.
template <class T, class S>
__device__ void write_packs(const PlaceGradient<T, S>& gradient, S* to, const S* row, const S* end, int lane,
                            int lanes) {
  const int64_t classes = gradient.p.classes;
  const bool vectors = reinterpret_cast<uintptr_t>(to) % 16 == 0;
  for_packs<false>(row, classes, end, 0, lane, lanes, [&](int64_t c, float(&x)[kPack]) {
    gradient.apply(c, x);
    Pack<S, kPack> values;
    TANDEM_UNROLL
    for (int k = 0; k < kPack; ++k) values.x[k] = S(x[k]);
    if (vectors && c + kPack <= classes) {
      *reinterpret_cast<Pack<S, kPack>*>(to + c) = values;
    } else {
      TANDEM_UNROLL
      for (int k = 0; k < kPack; ++k)
        if (c + k < classes) to[c + k] = values.x[k];
    }
  });
}

template <class T, class S>
__global__ void __launch_bounds__(kLineThreads)
    cross_entropy_gradient(Places<T> p, S* out, int64_t out_row, const T* g, const T* norm, const T* total_weight,
                           const S* x, int lanes, const T* class_weights) {
  __shared__ T shared[kLineThreads / 32];
  T weights = static_cast<T>(p.classes);
  if (class_weights != nullptr) {
    weights = *class_weights;
  } else if (p.smooth != T(0) && p.w != nullptr) {
    weights = 0;
    for (int64_t c = threadIdx.x; c < p.classes; c += kLineThreads) weights += p.w[c];
    weights = fold_block(weights, shared, Plus());
  }
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int64_t i = int64_t{blockIdx.x} * (kLineThreads / lanes) + thread / lanes;
  if (i >= p.count) return;
  const S* row = x + p.first(i);
  S* to = out + (p.inner == 1 ? i * out_row : p.first(i));
  const PlaceGradient<T, S> gradient(p, i, g, norm, total_weight, weights);
  if constexpr (HalfNumber<S>)
    if (p.inner == 1) return write_packs(gradient, to, row, x + p.count * p.classes, lane, lanes);
  for (int64_t c = lane; c < p.classes; c += lanes) {
    T value[1] = {static_cast<T>(row[c * p.inner])};
    gradient.apply(c, value);
    to[c * p.inner] = static_cast<S>(value[0]);
  }
}

template <class T>
__global__ void __launch_bounds__(kLineThreads) nll_gradient(Places<T> p, T* out, const T* g, const T* total_weight) {
  const int64_t i = int64_t{blockIdx.x} * kLineThreads + threadIdx.x;
  if (i < p.count && p.counts(i))
    out[p.first(i) + p.y[i] * p.inner] = -p.weight(p.y[i]) * gradient_of(p, g, i) * scale_of(p, total_weight);
}

// ---- host

// Number of threads per position.
template <class T>
int lanes_of(const Places<T>& p) {
  if (p.inner > 1) return 1;
  return p.classes > 8192 ? kLineThreads : make_row_geometry(std::min<int64_t>(p.classes, 128), 4, 1, 4).lanes;
}

// Calls terms(context, grid, totals), then sums the results of the blocks.
template <class T, class Terms>
void sum_terms(const char* operation, const Tensor& out, const Tensor& total_weight, const Places<T>& p, int lanes,
               Terms&& terms) {
  Context& c = context(out.device());
  // A single block, if it can hold all positions at once, or takes few rounds: a second launch takes longer.
  const int64_t rounds = ceil_div(p.count, kLineThreads / lanes);
  const bool alone = rounds <= kMaxThreads / kLineThreads;
  Grid grid{alone ? 1 : std::min(rounds, kMaxBlocks), kLineThreads};
  if (alone && lanes <= 32) grid.threads *= static_cast<int>(std::max<int64_t>(1, rounds));
  Tensor partial;
  Totals<T> totals{out.ptr<T>(), total_weight.ptr<T>(), nullptr};
  if (!alone) {
    partial = empty_raw({2 * grid.blocks}, kDouble, out.device());
    totals.partial = partial.ptr<double>();
  }
  terms(c, grid, totals);
  if (!alone) launch(operation, c, {1, kLineThreads}, join<T>, p, totals, static_cast<int>(grid.blocks));
}

void cross_entropy(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
                   const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  if (is_strict()) return strict::cross_entropy(out, norms, total_weight, scores, target, weight, loss);
  dispatch(scores.dtype(), StoredFloats{}, "cross_entropy", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const auto p = places<T>("cross_entropy", scores, target, weight, loss);
    const int lanes = lanes_of(p);
    sum_terms("cross_entropy", out, total_weight, p, lanes, [&](Context& c, Grid grid, Totals<T> totals) {
      const auto kernel = grid.threads > kLineThreads ? cross_entropy_terms<T, S, kMaxThreads>
                                                      : cross_entropy_terms<T, S, kLineThreads>;
      launch("cross_entropy", c, grid, kernel, p, totals, scores.ptr<S>(), norms.ptr<T>(), lanes, c.fault());
    });
  });
}

// `class_weights`: their sum, or undefined if the kernel sums them.
void launch_gradient(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& norms,
                     const Tensor& total_weight, const Tensor& scores, const Tensor& target, const Tensor& weight,
                     const Tensor& class_weights, const ClassLoss& loss) {
  dispatch(scores.dtype(), StoredFloats{}, "cross_entropy_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const auto p = places<T>("cross_entropy_backward", scores, target, weight, loss);
    const int lanes = lanes_of(p);
    Context& c = context(scores.device());
    launch("cross_entropy_backward", c, {ceil_div(p.count, kLineThreads / lanes), kLineThreads},
           cross_entropy_gradient<T, S>, p, grad_scores.ptr<S>(), grad_scores.stride(0), grad_output.ptr<T>(),
           norms.ptr<T>(), total_weight.ptr<T>(), scores.ptr<S>(), lanes, data_or_null<T>(class_weights));
  });
}

void cross_entropy_backward(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& norms,
                            const Tensor& total_weight, const Tensor& scores, const Tensor& target,
                            const Tensor& weight, const ClassLoss& loss) {
  if (!is_strict())
    return launch_gradient(grad_scores, grad_output, norms, total_weight, scores, target, weight, Tensor(), loss);
  tandem::detail::call_in_float(launch_gradient, {}, grad_scores, grad_output, norms, total_weight, scores, target,
                                weight, strict::sum_of_weights(weight), loss);
}

void nll(const Tensor& out, const Tensor& total_weight, const Tensor& scores, const Tensor& target,
         const Tensor& weight, const ClassLoss& loss) {
  if (is_strict()) return strict::nll(out, total_weight, scores, target, weight, loss);
  dispatch(scores.dtype(), FloatTypes{}, "nll_loss", [&]<class T>(Type<T>) {
    const auto p = places<T>("nll_loss", scores, target, weight, loss);
    sum_terms("nll_loss", out, total_weight, p, 1, [&](Context& c, Grid grid, Totals<T> totals) {
      launch("nll_loss", c, grid, nll_terms<T>, p, totals, scores.ptr<T>(), c.fault());
    });
  });
}

void nll_backward(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& total_weight,
                  const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  dispatch(grad_scores.dtype(), FloatTypes{}, "nll_loss_backward", [&]<class T>(Type<T>) {
    const auto p = places<T>("nll_loss_backward", grad_scores, target, weight, loss);
    Context& c = context(grad_scores.device());
    if (grad_scores.numel() == 0) return;
    ensure(cudaMemsetAsync(grad_scores.data_ptr(), 0, static_cast<std::size_t>(grad_scores.numel()) * sizeof(T),
                           c.stream()),
           "cudaMemsetAsync");
    launch("nll_loss_backward", c, grid_for(p.count, 1, kLineThreads), nll_gradient<T>, p, grad_scores.ptr<T>(),
           grad_output.ptr<T>(), total_weight.ptr<T>());
  });
}

}  // namespace

constinit const LossKernels loss_kernels{.cross_entropy = {cross_entropy, kTakesHalf},
                                         .cross_entropy_backward = {cross_entropy_backward, kTakesHalf},
                                         .nll = nll,
                                         .nll_backward = nll_backward};

}  // namespace tandem::cuda_impl
