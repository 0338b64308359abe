// Softmax and log-softmax, forward and backward, on the CPU.
//
// A tensor is viewed as [outer, n, inner]. Lines along n are processed one by one if they are rows (inner == 1), otherwise
// in tiles of adjacent columns. Rules: core/formulas/softmax_rules.h.
#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/core/backend/softmax.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/softmax_rules.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTile = 256;

using softmax_rules::kBlock, softmax_rules::larger;
template <class T>
constexpr int kWide = softmax_rules::kLanes<T>;

// Folds f(i) for i < n over lanes.
template <class T, class F, class Combine>
T fold_lanes(int64_t n, T identity, F f, Combine combine) {
  T total = identity;
  int64_t i = 0;
  if (n >= kWide<T>) {
    T lanes[kWide<T>];
    for (int k = 0; k < kWide<T>; ++k) lanes[k] = f(k);
    for (i = kWide<T>; i + kWide<T> <= n; i += kWide<T>)
      for (int k = 0; k < kWide<T>; ++k) lanes[k] = combine(lanes[k], f(i + k));
    for (int width = kWide<T> / 2; width > 0; width /= 2)
      for (int k = 0; k < width; ++k) lanes[k] = combine(lanes[k], lanes[k + width]);
    total = combine(total, lanes[0]);
  }
  for (; i < n; ++i) total = combine(total, f(i));
  return total;
}

template <class T, class F>
T sum_of(int64_t n, F f) {
  T total = 0;
  for (int64_t b = 0; b < n; b += kBlock)
    total += fold_lanes<T>(
        std::min(kBlock, n - b), T(0), [&](int64_t i) { return f(b + i); }, [](T a, T c) { return a + c; });
  return total;
}

// The maximum of a row, which is subtracted before exp.
template <class T>
T row_max(const T* x, int64_t n) {
  return fold_lanes<T>(
      n, -std::numeric_limits<T>::infinity(), [=](int64_t i) { return x[i]; }, [](T a, T b) { return larger(a, b); });
}

template <class Rule, class T>
void row(T* out, const T* x, const T* y, int64_t n) {
  const T max = Rule::kShifted ? row_max(x, n) : T(0);  // x - 0 is x
  const auto term = [=](int64_t i) { return Rule::term(x[i] - max, y[i]); };
  if constexpr (Rule::kKept)
    for (int64_t i = 0; i < n; ++i) out[i] = term(i);
  const T total = Rule::total(sum_of<T>(n, [=](int64_t i) { return Rule::kKept ? out[i] : term(i); }));
  for (int64_t i = 0; i < n; ++i) out[i] = Rule::map(Rule::kKept ? out[i] : x[i] - max, y[i], total);
}

template <class Rule, class T>
void columns(T* out, const T* x, const T* y, int64_t n, int64_t step, int64_t width) {
  T max[kTile], total[kTile];
  std::fill_n(total, width, T(0));
  if constexpr (Rule::kShifted) {
    std::copy_n(x, width, max);
    for (int64_t i = 1; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) max[j] = larger(max[j], x[i * step + j]);
  }
  const auto value = [&](int64_t i, int64_t j) { return Rule::kShifted ? x[i * step + j] - max[j] : x[i * step + j]; };
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) {
      const T term = Rule::term(value(i, j), y[i * step + j]);
      if constexpr (Rule::kKept) out[i * step + j] = term;
      total[j] += term;
    }
  for (int64_t j = 0; j < width; ++j) total[j] = Rule::total(total[j]);
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < width; ++j) {
      T& o = out[i * step + j];
      o = Rule::map(Rule::kKept ? o : value(i, j), y[i * step + j], total[j]);
    }
}

// Applies the rule to every row or tile of columns.
template <class Rule, class T>
void run(const Tensor& out, int64_t dim, const Tensor& x, const Tensor& y) {
  int64_t outer = 1, inner = 1;
  const IntArrayRef sizes = out.sizes();
  for (int64_t d = 0; d < out.dim(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : sizes[static_cast<std::size_t>(d)];
  const int64_t n = out.dim() == 0 ? 1 : sizes[static_cast<std::size_t>(dim)];
  if (out.numel() == 0) return;
  T* o = out.ptr<T>();
  if (inner == 1) {
    parallel_for_each(outer, std::max<int64_t>(1, kGrain / 4 / n),
                      [&](int64_t r) { row<Rule>(o + r * n, x.ptr<T>() + r * n, y.ptr<T>() + r * n, n); });
    return;
  }
  const int64_t tiles = (inner + kTile - 1) / kTile;
  parallel_for_each(outer * tiles, std::max<int64_t>(1, kGrain / 4 / (n * std::min(inner, kTile))), [&](int64_t t) {
    const int64_t at = t / tiles * n * inner + t % tiles * kTile;
    columns<Rule>(o + at, x.ptr<T>() + at, y.ptr<T>() + at, n, inner, std::min(kTile, inner - t % tiles * kTile));
  });
}

template <template <class> class Rule>
void apply(const Tensor& out, const Tensor& x, const Tensor& y, int64_t dim) {
  dispatch(out.dtype(), FloatTypes{}, Rule<float>::name, [&]<class T>(Type<T>) { run<Rule<T>, T>(out, dim, x, y); });
}
template <template <class> class Rule>
void forward(const Tensor& out, const Tensor& in, int64_t dim) {
  apply<Rule>(out, in, in, dim);
}

}  // namespace

constinit const SoftmaxKernels softmax_kernels{
    .softmax = forward<softmax_rules::Softmax>,
    .log_softmax = forward<softmax_rules::LogSoftmax>,
    .softmax_backward = apply<softmax_rules::SoftmaxBackward>,
    .log_softmax_backward = apply<softmax_rules::LogSoftmaxBackward>,
};

}  // namespace tandem::cpu
