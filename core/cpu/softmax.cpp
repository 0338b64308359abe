// Softmax and log-softmax, forward and backward, on the CPU.
//
// A tensor is viewed as [outer, n, inner]. Rows (inner == 1) are processed one by one, otherwise tiles of
// adjacent columns. Sums along n have a fixed order.
#include <cmath>

#include "tandem/core/backend/softmax.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/fast_exp.h"

namespace tandem::cpu {
namespace {

constexpr int64_t kTile = 256;

template <class T>
constexpr int kWide = std::max<int>(16, 128 / static_cast<int>(sizeof(T)));

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
  constexpr int64_t kBlock = 4096;
  T total = 0;
  for (int64_t b = 0; b < n; b += kBlock)
    total += fold_lanes<T>(
        std::min(kBlock, n - b), T(0), [&](int64_t i) { return f(b + i); }, [](T a, T c) { return a + c; });
  return total;
}

template <class T>
T larger(T a, T b) {
  return (bool(b > a) | bool(b != b)) ? b : a;
}

// The maximum of a row, which is subtracted before exp.
template <class T>
T row_max(const T* x, int64_t n) {
  return fold_lanes<T>(
      n, -std::numeric_limits<T>::infinity(), [=](int64_t i) { return x[i]; }, [](T a, T b) { return larger(a, b); });
}

template <class T>
struct Softmax {
  static constexpr const char* name = "softmax";
  static void row(T* y, const T* x, int64_t n) {
    const T max = row_max(x, n);
    for (int64_t i = 0; i < n; ++i) y[i] = fast_exp(x[i] - max);
    const T scale = T(1) / sum_of<T>(n, [=](int64_t i) { return y[i]; });
    for (int64_t i = 0; i < n; ++i) y[i] *= scale;
  }
  static void columns(T* y, const T* x, int64_t n, int64_t step, int64_t width) {
    T max[kTile], sum[kTile];
    for (int64_t j = 0; j < width; ++j) max[j] = x[j], sum[j] = 0;
    for (int64_t i = 1; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) max[j] = larger(max[j], x[i * step + j]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) {
        const T e = fast_exp(x[i * step + j] - max[j]);
        y[i * step + j] = e;
        sum[j] += e;
      }
    for (int64_t j = 0; j < width; ++j) sum[j] = T(1) / sum[j];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) y[i * step + j] *= sum[j];
  }
};

template <class T>
struct LogSoftmax {
  static constexpr const char* name = "log_softmax";
  static void row(T* y, const T* x, int64_t n) {
    const T max = row_max(x, n);
    const T log_sum = math::log(sum_of<T>(n, [=](int64_t i) { return fast_exp(x[i] - max); }));
    for (int64_t i = 0; i < n; ++i) y[i] = (x[i] - max) - log_sum;
  }
  static void columns(T* y, const T* x, int64_t n, int64_t step, int64_t width) {
    T max[kTile], sum[kTile];
    for (int64_t j = 0; j < width; ++j) max[j] = x[j], sum[j] = 0;
    for (int64_t i = 1; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) max[j] = larger(max[j], x[i * step + j]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) sum[j] += fast_exp(x[i * step + j] - max[j]);
    for (int64_t j = 0; j < width; ++j) sum[j] = math::log(sum[j]);
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) y[i * step + j] = (x[i * step + j] - max[j]) - sum[j];
  }
};

template <class T>
struct SoftmaxBackward {
  static constexpr const char* name = "softmax_backward";
  static void row(T* out, const T* g, const T* y, int64_t n) {
    const T sum = sum_of<T>(n, [=](int64_t i) { return g[i] * y[i]; });
    for (int64_t i = 0; i < n; ++i) out[i] = y[i] * (g[i] - sum);
  }
  static void columns(T* out, const T* g, const T* y, int64_t n, int64_t step, int64_t width) {
    T sum[kTile] = {};
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) sum[j] += g[i * step + j] * y[i * step + j];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) out[i * step + j] = y[i * step + j] * (g[i * step + j] - sum[j]);
  }
};

template <class T>
struct LogSoftmaxBackward {
  static constexpr const char* name = "log_softmax_backward";
  static void row(T* out, const T* g, const T* y, int64_t n) {
    const T sum = sum_of<T>(n, [=](int64_t i) { return g[i]; });
    for (int64_t i = 0; i < n; ++i) out[i] = g[i] - fast_exp(y[i]) * sum;
  }
  static void columns(T* out, const T* g, const T* y, int64_t n, int64_t step, int64_t width) {
    T sum[kTile] = {};
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) sum[j] += g[i * step + j];
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) out[i * step + j] = g[i * step + j] - fast_exp(y[i * step + j]) * sum[j];
  }
};

// Calls Rule on every row or tile of columns. inputs: one (forward) or two (backward).
template <class Rule, class T, class... Inputs>
void run(const Tensor& out, int64_t dim, const Inputs&... inputs) {
  int64_t outer = 1, inner = 1;
  const IntArrayRef sizes = out.sizes();
  for (int64_t d = 0; d < out.dim(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : sizes[static_cast<std::size_t>(d)];
  const int64_t n = out.dim() == 0 ? 1 : sizes[static_cast<std::size_t>(dim)];
  if (out.numel() == 0) return;
  T* o = out.ptr<T>();
  if (inner == 1) {
    parallel_for(outer, std::max<int64_t>(1, kGrain / 4 / n), [&](int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) Rule::row(o + r * n, (inputs.template ptr<T>() + r * n)..., n);
    });
    return;
  }
  const int64_t tiles = (inner + kTile - 1) / kTile;
  parallel_for(outer * tiles, std::max<int64_t>(1, kGrain / 4 / (n * std::min(inner, kTile))),
               [&](int64_t begin, int64_t end) {
                 for (int64_t t = begin; t < end; ++t) {
                   const int64_t at = t / tiles * n * inner + t % tiles * kTile;
                   Rule::columns(o + at, (inputs.template ptr<T>() + at)..., n, inner,
                                 std::min(kTile, inner - t % tiles * kTile));
                 }
               });
}

template <template <class> class Rule>
void forward(const Tensor& out, const Tensor& in, int64_t dim) {
  dispatch(in.dtype(), FloatTypes{}, Rule<float>::name, [&]<class T>(Type<T>) { run<Rule<T>, T>(out, dim, in); });
}
template <template <class> class Rule>
void backward(const Tensor& grad_in, const Tensor& grad, const Tensor& out, int64_t dim) {
  dispatch(out.dtype(), FloatTypes{}, Rule<float>::name,
           [&]<class T>(Type<T>) { run<Rule<T>, T>(grad_in, dim, grad, out); });
}

}  // namespace

constinit const SoftmaxKernels softmax_kernels{
    .softmax = forward<Softmax>,
    .log_softmax = forward<LogSoftmax>,
    .softmax_backward = backward<SoftmaxBackward>,
    .log_softmax_backward = backward<LogSoftmaxBackward>,
};

}  // namespace tandem::cpu
