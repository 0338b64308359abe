// Layer normalisation of rows. Gradients of weight and bias are summed in fixed groups of rows.
#include <algorithm>

#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/backend/layer_norm.h"
#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/norm_math.h"

namespace tandem::cpu {
namespace {

template <class T, class F>
T sum_runs(int64_t n, F f) {
  T total = 0;
  for (int64_t i = 0; i < n; i += kNormRun) total += f(i, std::min(kNormRun, n - i));
  return total;
}

template <class T>
void row_statistics(const T* x, int64_t n, double eps, T* statistics) {
  const T mean = sum_runs<T>(n, [=](int64_t i, int64_t count) { return run_sum(x + i, count); }) / static_cast<T>(n);
  folds::Moments<T> total{0, 0};
  for (int64_t i = 0; i < n; i += kNormRun) {
    const folds::Moments<T> part = run_moments(x + i, std::min(kNormRun, n - i), mean);
    total = {total.sum + part.sum, total.squares + part.squares};
  }
  store_row_statistics(statistics, mean, total.sum, total.squares, static_cast<T>(n), static_cast<T>(eps));
}

template <class T>
void normalize_row(T* out, const T* x, int64_t n, const T* statistics, const T* weight, const T* bias) {
  const T mean = statistics[0], scale = statistics[2], shift = -statistics[1] * scale;
  if (weight != nullptr && bias != nullptr)
    for (int64_t i = 0; i < n; ++i) out[i] = ((x[i] - mean) * scale + shift) * weight[i] + bias[i];
  else if (weight != nullptr)
    for (int64_t i = 0; i < n; ++i) out[i] = ((x[i] - mean) * scale + shift) * weight[i];
  else if (bias != nullptr)
    for (int64_t i = 0; i < n; ++i) out[i] = ((x[i] - mean) * scale + shift) + bias[i];
  else
    for (int64_t i = 0; i < n; ++i) out[i] = (x[i] - mean) * scale + shift;
}

// With h = the normalised row and u = g weight: scale (u - mean(u) - h mean(u h)).
template <class T>
void input_gradient(T* to, const T* g, const T* x, int64_t n, const T* statistics, const T* weight) {
  constexpr int kWidth = Wide<T>::kCount;
  const T mean = statistics[0], scale = statistics[2], shift = -statistics[1] * scale;
  T sum = 0, product = 0;
  for (int64_t b = 0; b < n; b += kNormRun) {
    Wide<T> sums[2] = {}, products[2] = {};
    int64_t i = b;
    const int64_t end = std::min(n, b + kNormRun);
    for (; i + 2 * kWidth <= end; i += 2 * kWidth)
      for (int l = 0; l < 2; ++l) {
        const int64_t at = i + l * kWidth;
        Wide<T> value = load_block<T>(g + at), h = load_block<T>(x + at);
        if (weight != nullptr)
          for (int v = 0; v < Wide<T>::kVectors; ++v) value.v[v] *= load(weight + at + v * kLanes<T>);
        for (Vec<T>& v : h.v) v = (v - mean) * scale + shift;
        sums[l] += value;
        products[l] = fma(value, h, products[l]);
      }
    sum += fold(sums[0] + sums[1]);
    product += fold(products[0] + products[1]);
    for (; i < end; ++i) {
      const T value = weight != nullptr ? g[i] * weight[i] : g[i];
      sum += value;
      product = math::fma(value, (x[i] - mean) * scale + shift, product);
    }
  }
  const T a = sum / static_cast<T>(n), c = product / static_cast<T>(n);
  if (weight != nullptr)
    for (int64_t i = 0; i < n; ++i) to[i] = scale * ((g[i] * weight[i] - a) - ((x[i] - mean) * scale + shift) * c);
  else
    for (int64_t i = 0; i < n; ++i) to[i] = scale * ((g[i] - a) - ((x[i] - mean) * scale + shift) * c);
}

// Adds one row's share of the gradients of weight and bias.
template <class T>
void add_parameters(T* weight, T* bias, const T* g, const T* x, int64_t n, const T* statistics) {
  const T mean = statistics[0], scale = statistics[2], shift = -statistics[1] * scale;
  for (int64_t i = 0; i < n; ++i) {
    weight[i] += g[i] * ((x[i] - mean) * scale + shift);
    bias[i] += g[i];
  }
}

template <class T>
void backward_of(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad,
                 const Tensor& input, const Tensor& statistics, const Tensor& weight) {
  const int64_t m = input.size(0), n = input.size(1);
  const bool parameters = grad_weight.defined() || grad_bias.defined();
  const int64_t group = std::max<int64_t>(1, (m + kNormGroups - 1) / kNormGroups), groups = (m + group - 1) / group;
  const Workspace<T> sums(parameters ? std::max<int64_t>(1, groups * 2 * n) : 1);
  const T *g = grad.ptr<T>(), *x = input.ptr<T>(), *stats = statistics.ptr<T>(), *w = data_or_null<T>(weight);
  T* gx = data_or_null<T>(grad_input);
  parallel_for_each(groups, 1, [&](int64_t q) {
    T* part = sums.data() + (parameters ? q * 2 * n : 0);
    if (parameters) std::fill_n(part, 2 * n, T(0));
    for (int64_t r = q * group; r < std::min(m, (q + 1) * group); ++r) {
      if (gx != nullptr) input_gradient(gx + r * n, g + r * n, x + r * n, n, stats + 3 * r, w);
      if (parameters) add_parameters(part, part + n, g + r * n, x + r * n, n, stats + 3 * r);
    }
  });
  const auto total = [&](const Tensor& out, int64_t offset) {
    if (!out.defined()) return;
    T* to = out.ptr<T>();
    std::fill_n(to, n, T(0));
    for (int64_t q = 0; q < groups; ++q)
      for (int64_t i = 0; i < n; ++i) to[i] += sums.data()[q * 2 * n + offset + i];
  };
  total(grad_weight, 0);
  total(grad_bias, n);
}

void forward(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight, const Tensor& bias,
             double eps) {
  dispatch(input.dtype(), FloatTypes{}, "layer_norm", [&]<class T>(Type<T>) {
    const int64_t m = input.size(0), n = input.size(1);
    const T *x = input.ptr<T>(), *w = data_or_null<T>(weight), *b = data_or_null<T>(bias);
    T *to = out.ptr<T>(), *stats = statistics.ptr<T>();
    parallel_for_each(m, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, n)), [=](int64_t r) {
      row_statistics(x + r * n, n, eps, stats + 3 * r);
      normalize_row(to + r * n, x + r * n, n, stats + 3 * r, w, b);
    });
  });
}

void backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
              const Tensor& input, const Tensor& statistics, const Tensor& weight) {
  dispatch(input.dtype(), FloatTypes{}, "layer_norm_backward", [&]<class T>(Type<T>) {
    backward_of<T>(grad_input, grad_weight, grad_bias, grad_output, input, statistics, weight);
  });
}

}  // namespace

constinit const LayerNormKernels layer_norm_kernels{.forward = forward, .backward = backward};

}  // namespace tandem::cpu
