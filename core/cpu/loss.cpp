// Losses over classes on the CPU. Positions are processed in fixed blocks; the terms are summed in a fixed
// order.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/loss.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/fast_exp.h"
#include "tandem/core/reduction.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kBlock = 16384;  // scores in one task

// Data shared by all kernels. Positions are numbered n * inner + s; class c of a position is c * inner
// elements further.
template <class T>
struct Places {
  Places(const Tensor& scores, const Tensor& target, const Tensor& weight, const ClassLoss& loss)
      : classes(scores.size(1)),
        inner(scores.size(2)),
        count(target.numel()),
        y(target.ptr<int64_t>()),
        w(data_or_null<T>(weight)),
        ignore(loss.ignore_index) {}

  int64_t first(int64_t place) const { return place / inner * classes * inner + place % inner; }
  bool counts(int64_t place) const { return y[place] != ignore; }
  T weight(int64_t c) const { return w != nullptr ? w[c] : T(1); }
  template <class F>
  void parallel(F&& body) const {
    parallel_for(count, std::max<int64_t>(1, kBlock / std::max<int64_t>(1, classes)), body);
  }
  void check_targets(const char* operation) const {
    for (int64_t i = 0; i < count; ++i)
      check_index((y[i] >= 0 && y[i] < classes) || y[i] == ignore, operation, ": target ", y[i],
                  " is out of range: there are ", classes, " classes (ignore_index ", ignore, ")");
  }

  int64_t classes, inner, count;
  const int64_t* y;
  const T* w;
  int64_t ignore;
};

// Pairwise sum in double, in an order that depends only on the count.
template <class F>
double ordered_sum(int64_t begin, int64_t end, F&& term) {
  if (end - begin > 256) {
    const int64_t middle = begin + (end - begin) / 2;
    return ordered_sum(begin, middle, term) + ordered_sum(middle, end, term);
  }
  double sum = 0;
  for (int64_t i = begin; i < end; ++i) sum += term(i);
  return sum;
}

template <class T>
T total_weight_of(const Places<T>& p) {
  return static_cast<T>(
      ordered_sum(0, p.count, [&](int64_t i) { return p.counts(i) ? static_cast<double>(p.weight(p.y[i])) : 0.0; }));
}

// Writes the reduced value of `terms` (the output itself for None).
template <class T>
void reduce_terms(const Tensor& out, const T* terms, int64_t count, T total_weight, ReductionKind reduction) {
  if (reduction == ReductionKind::kNone) return;
  const double sum = ordered_sum(0, count, [&](int64_t i) { return static_cast<double>(terms[i]); });
  *out.ptr<T>() = static_cast<T>(reduction == ReductionKind::kMean ? sum / static_cast<double>(total_weight) : sum);
}

// Memory for the terms before they are reduced.
template <class T>
T* terms_of(const Tensor& out, Workspace<T>& memory, int64_t count, ReductionKind reduction) {
  return reduction == ReductionKind::kNone ? out.ptr<T>() : memory.resize(count);
}

template <class T>
T largest(const T* x, int64_t n, int64_t step) {
  T max = x[0];
  for (int64_t c = 1; c < n; ++c) max = x[c * step] > max || x[c * step] != x[c * step] ? x[c * step] : max;
  return max;
}

// log sum exp(x - max) of n scores with stride `step`.
template <class T>
T log_sum(const T* x, int64_t n, int64_t step, T max) {
  constexpr int kLanes = 16;
  T lanes[kLanes] = {}, sum = 0;
  int64_t c = 0;
  if (step == 1)
    for (; c + kLanes <= n; c += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] += fast_exp(x[c + k] - max);
  for (; c < n; ++c) sum += fast_exp(x[c * step] - max);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lanes[k] += lanes[k + width];
  return math::log(sum + lanes[0]);
}

void cross_entropy(const Tensor& out, const Tensor& norms, const Tensor& total_weight, const Tensor& scores,
                   const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  dispatch(scores.dtype(), FloatTypes{}, "cross_entropy", [&]<class T>(Type<T>) {
    const Places<T> p(scores, target, weight, loss);
    p.check_targets("cross_entropy");
    const T* x = scores.ptr<T>();
    Workspace<T> memory;
    T *norm = norms.ptr<T>(), *terms = terms_of(out, memory, p.count, loss.reduction);
    const T sharp = static_cast<T>(1 - loss.label_smoothing),
            smooth = static_cast<T>(loss.label_smoothing / static_cast<double>(p.classes));
    p.parallel([&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x + p.first(i);
        const T max = largest(row, p.classes, p.inner), log = log_sum(row, p.classes, p.inner, max);
        norm[i] = max;
        norm[p.count + i] = log;
        terms[i] = 0;
        if (!p.counts(i)) continue;
        terms[i] = sharp * p.weight(p.y[i]) * (max - row[p.y[i] * p.inner] + log);
        if (smooth == T(0)) continue;
        T sum = 0;
        for (int64_t c = 0; c < p.classes; ++c) sum += p.weight(c) * (max - row[c * p.inner] + log);
        terms[i] += smooth * sum;
      }
    });
    *total_weight.ptr<T>() = total_weight_of(p);
    reduce_terms(out, terms, p.count, *total_weight.ptr<T>(), loss.reduction);
  });
}

void cross_entropy_backward(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& norms,
                            const Tensor& total_weight, const Tensor& scores, const Tensor& target,
                            const Tensor& weight, const ClassLoss& loss) {
  dispatch(scores.dtype(), FloatTypes{}, "cross_entropy_backward", [&]<class T>(Type<T>) {
    const Places<T> p(scores, target, weight, loss);
    const T *x = scores.ptr<T>(), *norm = norms.ptr<T>(), *g = grad_output.ptr<T>();
    T* out = grad_scores.ptr<T>();
    const bool each = loss.reduction == ReductionKind::kNone;
    const T scale = loss.reduction == ReductionKind::kMean ? T(1) / *total_weight.ptr<T>() : T(1);
    const T sharp = static_cast<T>(1 - loss.label_smoothing),
            smooth = static_cast<T>(loss.label_smoothing / static_cast<double>(p.classes));
    T weights = 0;  // of all classes
    for (int64_t c = 0; c < p.classes; ++c) weights += p.weight(c);
    p.parallel([&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const T* row = x + p.first(i);
        T* to = out + p.first(i);
        const bool counts = p.counts(i);
        const T factor = counts ? g[each ? i : 0] * scale : T(0);
        const T t = counts ? sharp * p.weight(p.y[i]) : T(0), all = (t + smooth * weights) * factor;
        const T max = norm[i], log = norm[p.count + i];
        if (counts && p.inner == 1)  // a loop of its own, which is vectorised
          for (int64_t c = 0; c < p.classes; ++c) to[c] = all * fast_exp(row[c] - max - log);
        else
          for (int64_t c = 0; c < p.classes; ++c)
            to[c * p.inner] = counts ? all * fast_exp(row[c * p.inner] - max - log) : T(0);
        if (!counts) continue;
        to[p.y[i] * p.inner] -= t * factor;
        if (smooth == T(0)) continue;
        for (int64_t c = 0; c < p.classes; ++c) to[c * p.inner] -= smooth * p.weight(c) * factor;
      }
    });
  });
}

void nll(const Tensor& out, const Tensor& total_weight, const Tensor& scores, const Tensor& target,
         const Tensor& weight, const ClassLoss& loss) {
  dispatch(scores.dtype(), FloatTypes{}, "nll_loss", [&]<class T>(Type<T>) {
    const Places<T> p(scores, target, weight, loss);
    p.check_targets("nll_loss");
    const T* x = scores.ptr<T>();
    Workspace<T> memory;
    T* terms = terms_of(out, memory, p.count, loss.reduction);
    for (int64_t i = 0; i < p.count; ++i)
      terms[i] = p.counts(i) ? -p.weight(p.y[i]) * x[p.first(i) + p.y[i] * p.inner] : T(0);
    *total_weight.ptr<T>() = total_weight_of(p);
    reduce_terms(out, terms, p.count, *total_weight.ptr<T>(), loss.reduction);
  });
}

void nll_backward(const Tensor& grad_scores, const Tensor& grad_output, const Tensor& total_weight,
                  const Tensor& target, const Tensor& weight, const ClassLoss& loss) {
  fill_raw(grad_scores, 0);
  dispatch(grad_scores.dtype(), FloatTypes{}, "nll_loss_backward", [&]<class T>(Type<T>) {
    const Places<T> p(grad_scores, target, weight, loss);
    const T* g = grad_output.ptr<T>();
    T* out = grad_scores.ptr<T>();
    const bool each = loss.reduction == ReductionKind::kNone;
    const T scale = loss.reduction == ReductionKind::kMean ? T(1) / *total_weight.ptr<T>() : T(1);
    for (int64_t i = 0; i < p.count; ++i)
      if (p.counts(i)) out[p.first(i) + p.y[i] * p.inner] = -p.weight(p.y[i]) * g[each ? i : 0] * scale;
  });
}

}  // namespace

constinit const LossKernels loss_kernels{.cross_entropy = cross_entropy,
                                         .cross_entropy_backward = cross_entropy_backward,
                                         .nll = nll,
                                         .nll_backward = nll_backward};

}  // namespace tandem::cpu
