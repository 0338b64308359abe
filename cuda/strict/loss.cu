// Losses over classes in the CPU's order (core/cpu/loss.cpp): kernels write the terms of all positions, which are then
// summed pairwise in double, in leaves of at most kLeaf terms.
#include "tandem/cuda/device.h"

#include "tandem/cuda/strict/loss.h"

#include "tandem/core/formulas/softmax_rules.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_threads.h"
#include "tandem/cuda/ops/loss_places.h"
#include "tandem/cuda/strict/maximum.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl::strict {
namespace {

constexpr int kRowLanes = 16;  // the CPU's, of scores side by side
constexpr int64_t kLeaf = 256;

// kLanes: threads of a position.
template <class T, int kLanes>
__global__ void __launch_bounds__(kLineThreads)
    cross_entropy_terms(Places<T> p, const T* x, T* norm, T* terms, Fault* fault) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int64_t given = (int64_t{blockIdx.x} * kLineThreads + threadIdx.x) / kLanes,
                i = given < p.count ? given : p.count - 1;  // some threads compute the last position again
  const T* row = x + p.first(i);
  const auto score = [&](int64_t c) { return row[c * p.inner]; };
  T max = score(0);
  for (int64_t c = lane; c < p.classes; c += kLanes) max = softmax_rules::larger(max, score(c));
  max = fold_warp(max, Larger(), kLanes);
  const int64_t whole = kLanes == 1 ? 0 : p.classes / kLanes * kLanes;
  T lanes = 0, rest = 0;
  for (int64_t c = lane; c < whole; c += kLanes) lanes += fast_exp(score(c) - max);
  for (int64_t c = whole; c < p.classes; ++c) rest += fast_exp(score(c) - max);
  const T log = math::log(rest + fold_warp(lanes, Plus(), kLanes));
  T smooth = 0;
  if (p.smooth != T(0))
    for (int64_t from = 0; from < p.classes; from += kLanes) {
      const T own = from + lane < p.classes ? p.weight(from + lane) * (max - score(from + lane) + log) : T(0);
      for (int k = 0; k < kLanes && from + k < p.classes; ++k)
        smooth += kLanes == 1 ? own : __shfl_sync(kFullMask, own, k, kLanes);
    }
  if (given >= p.count || lane != 0) return;
  norm[i] = max;
  norm[p.count + i] = log;
  p.check(fault, i);
  T term = 0;
  if (p.counts(i)) {
    term = p.sharp * p.weight(p.y[i]) * (max - score(p.y[i]) + log);
    if (p.smooth != T(0)) term += p.smooth * smooth;
  }
  terms[i] = term;
}

template <class T>
__global__ void __launch_bounds__(kLineThreads) nll_terms(Places<T> p, const T* x, T* terms, Fault* fault) {
  const int64_t i = int64_t{blockIdx.x} * kLineThreads + threadIdx.x;
  if (i >= p.count) return;
  p.check(fault, i);
  terms[i] = p.counts(i) ? -p.weight(p.y[i]) * x[p.first(i) + p.y[i] * p.inner] : T(0);
}

// The CPU halves the positions until at most kLeaf are left. Bit d of a leaf's number is its half in step d; leaves that
// halving does not reach are 0. Writes the sums of terms, then those of weights.
template <class T>
__global__ void __launch_bounds__(kLineThreads) sum_leaves(Places<T> p, const T* terms, double* sums, int64_t leaves) {
  const int64_t leaf = int64_t{blockIdx.x} * kLineThreads + threadIdx.x;
  if (leaf >= leaves) return;
  int64_t begin = 0, end = p.count, path = leaf;
  for (; end - begin > kLeaf; path >>= 1) {
    const int64_t middle = begin + (end - begin) / 2;
    if (path & 1)
      begin = middle;
    else
      end = middle;
  }
  double sum = 0, weight = 0;
  for (int64_t i = begin; i < end && path == 0; ++i) {
    sum += static_cast<double>(terms[i]);
    weight += p.counts(i) ? static_cast<double>(p.weight(p.y[i])) : 0.0;
  }
  sums[leaf] = sum;
  sums[leaves + leaf] = weight;
}

// One block; joins the last halves first.
template <class T>
__global__ void __launch_bounds__(kLineThreads)
    join_leaves(Places<T> p, double* sums, int64_t leaves, T* out, T* total_weight) {
  for (int64_t width = leaves / 2; width > 0; width /= 2) {
    for (int64_t i = threadIdx.x; i < width; i += kLineThreads) {
      sums[i] += sums[i + width];
      sums[leaves + i] += sums[leaves + i + width];
    }
    __syncthreads();
  }
  if (threadIdx.x != 0) return;
  const T weight = static_cast<T>(sums[leaves]);
  *total_weight = weight;
  if (p.reduction != ReductionKind::kNone)
    *out = static_cast<T>(p.reduction == ReductionKind::kMean ? sums[0] / static_cast<double>(weight) : sums[0]);
}

template <class T>
__global__ void add_weights(const T* weights, int64_t classes, T* out) {
  T sum = 0;
  for (int64_t c = 0; c < classes; ++c) sum += weights[c];
  *out = sum;
}

// Calls write_terms(context, memory for them), and reduces the terms.
template <class T, class F>
void reduce_terms(const char* operation, const Tensor& out, const Tensor& total_weight, const Places<T>& p,
                  F write_terms) {
  Context& c = context(out.device());
  const Tensor terms =
      p.reduction == ReductionKind::kNone ? out : empty_raw({p.count}, scalar_type_of<T>, out.device());
  write_terms(c, terms.ptr<T>());
  int64_t leaves = 1;
  for (int64_t most = p.count; most > kLeaf; most = ceil_div(most, 2)) leaves *= 2;
  const Tensor sums = empty_raw({2 * leaves}, kDouble, out.device());
  launch(operation, c, grid_for(leaves, 1, kLineThreads), sum_leaves<T>, p, terms.ptr<T>(), sums.ptr<double>(), leaves);
  launch(operation, c, {1, kLineThreads}, join_leaves<T>, p, sums.ptr<double>(), leaves, out.ptr<T>(),
         total_weight.ptr<T>());
}

void cross_entropy_of_floats(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
                             const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  dispatch(scores.dtype(), FloatTypes{}, "cross_entropy", [&]<class T>(Type<T>) {
    const auto p = places<T>("cross_entropy", scores, target, weight, loss);
    reduce_terms("cross_entropy", out, total_weight, p, [&](Context& c, T* terms) {
      const bool row = p.inner == 1;
      launch("cross_entropy", c, grid_for(p.count * (row ? kRowLanes : 1), 1, kLineThreads),
             row ? cross_entropy_terms<T, kRowLanes> : cross_entropy_terms<T, 1>, p, scores.ptr<T>(), norms.ptr<T>(),
             terms, c.fault());
    });
  });
}

}  // namespace

// Half types are converted to float beforehand, as on the CPU.
void cross_entropy(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
                   const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  tandem::detail::call_in_float(cross_entropy_of_floats, {.outputs = 3}, out, norms, total_weight, scores, target,
                                weight, loss);
}

void nll(const Tensor& out, const Tensor& total_weight, const Tensor& scores, const Tensor& target,
         const Tensor& weight, const ClassLoss& loss) {
  dispatch(scores.dtype(), FloatTypes{}, "nll_loss", [&]<class T>(Type<T>) {
    const auto p = places<T>("nll_loss", scores, target, weight, loss);
    reduce_terms("nll_loss", out, total_weight, p, [&](Context& c, T* terms) {
      launch("nll_loss", c, grid_for(p.count, 1, kLineThreads), nll_terms<T>, p, scores.ptr<T>(), terms, c.fault());
    });
  });
}

Tensor sum_of_weights(const Tensor& weight) {
  if (!weight.defined()) return Tensor();
  const Tensor sum = empty_raw({}, weight.dtype(), weight.device());
  dispatch(weight.dtype(), FloatTypes{}, "cross_entropy_backward", [&]<class T>(Type<T>) {
    launch("cross_entropy_backward", context(weight.device()), {1, 1}, add_weights<T>, weight.ptr<T>(), weight.numel(),
           sum.ptr<T>());
  });
  return sum;
}

}  // namespace tandem::cuda_impl::strict
