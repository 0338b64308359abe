// Batch normalisation on the CPU: one task per channel, so every sum has a fixed order.
#include <cmath>

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/cpu/layer_norm.h"
#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int kSums = 16;

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.ptr<T>() : nullptr;
}

// Calls run(begin, end) for runs of at most 4096 elements of channel c of [N, C, S].
template <class Run>
void for_channel_runs(const Tensor& input, int64_t c, Run&& run) {
  const int64_t channels = input.size(1), inner = input.size(2);
  for (int64_t n = 0; n < input.size(0); ++n) {
    const int64_t start = (n * channels + c) * inner;
    for (int64_t block = 0; block < inner; block += 4096)
      run(start + block, start + std::min(inner, block + 4096));
  }
}

// Sum of f(position) over channel c of [N, C, S]: in lanes within a run, in double across runs.
template <class T, class F>
double channel_sum(const Tensor& input, int64_t c, F&& f) {
  double total = 0;
  for_channel_runs(input, c, [&](int64_t i, int64_t end) {
    T lanes[kSums] = {}, rest = 0;
    for (; i + kSums <= end; i += kSums)
      for (int k = 0; k < kSums; ++k) lanes[k] += f(i + k);
    for (; i < end; ++i) rest += f(i);
    for (int k = 0; k < kSums; ++k) total += static_cast<double>(lanes[k]);
    total += static_cast<double>(rest);
  });
  return total;
}

struct Deviations {
  double sum = 0, squares = 0;
};
// Sums of x - m and of its square, in the same way.
template <class T>
Deviations deviations(const Tensor& input, int64_t c, T m) {
  Deviations total;
  const T* x = input.ptr<T>();
  for_channel_runs(input, c, [&](int64_t i, int64_t end) {
    const folds::Moments<T> run = run_moments(x + i, end - i, m);
    total.sum += static_cast<double>(run.sum);
    total.squares += static_cast<double>(run.squares);
  });
  return total;
}

template <class F>
void for_channel(const Tensor& input, int64_t c, F&& f) {
  const int64_t inner = input.size(2);
  for (int64_t n = 0; n < input.size(0); ++n) {
    const int64_t start = (n * input.size(1) + c) * inner;
    for (int64_t i = start; i < start + inner; ++i) f(i);
  }
}

template <class F>
void parallel_channels(const Tensor& input, F&& body) {
  const int64_t elements = std::max<int64_t>(1, input.size(0) * input.size(2));
  parallel_for(input.size(1), std::max<int64_t>(1, 16384 / elements), [&](int64_t begin, int64_t end) {
    for (int64_t c = begin; c < end; ++c) body(c);
  });
}

// The deviations are from a rounded mean. Corrects the results with the mean of the deviations and its
// square.
void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  dispatch(input.dtype(), FloatTypes{}, "batch_norm", [&]<class T>(Type<T>) {
    const T* x = input.ptr<T>();
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_channels(input, [&](int64_t c) {
      double sum = 0;
      for_channel_runs(input, c,
                       [&](int64_t i, int64_t end) { sum += static_cast<double>(run_sum(x + i, end - i)); });
      const T m = static_cast<T>(sum / count);
      const Deviations d = deviations(input, c, m);
      const double off = d.sum / count, squares = d.squares / count, centred = squares - off * off;
      mean.ptr<T>()[c] = static_cast<T>(static_cast<double>(m) + off);
      variance.ptr<T>()[c] = static_cast<T>(centred < 0 ? 0 : centred == centred ? centred : squares);
    });
  });
}

void batch_normalize(const Tensor& out, const Tensor& input, const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias, double eps) {
  dispatch(out.dtype(), FloatTypes{}, "batch_norm", [&]<class T>(Type<T>) {
    const T *x = input.ptr<T>(), *w = data_or_null<T>(weight), *b = data_or_null<T>(bias);
    T* y = out.ptr<T>();
    parallel_channels(input, [&](int64_t c) {
      const T m = mean.ptr<T>()[c], shift = b != nullptr ? b[c] : T(0),
              scale = (w != nullptr ? w[c] : T(1)) / std::sqrt(variance.ptr<T>()[c] + static_cast<T>(eps));
      for_channel(input, c, [=](int64_t i) { y[i] = (x[i] - m) * scale + shift; });
    });
  });
}

// With h = (x - mean) / s, s = sqrt(variance + eps): dw = sum g h, db = sum g, and dx = w / s (g - db / count
// - h dw / count), or w / s g where mean and variance are constants.
void batch_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& mean,
                    const Tensor& variance, const Tensor& weight, double eps, bool of_batch) {
  dispatch(input.dtype(), FloatTypes{}, "batch_norm_backward", [&]<class T>(Type<T>) {
    const T *x = input.ptr<T>(), *g = grad_output.ptr<T>(), *w = data_or_null<T>(weight);
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_channels(input, [&](int64_t c) {
      const T m = mean.ptr<T>()[c], inverse = T(1) / std::sqrt(variance.ptr<T>()[c] + static_cast<T>(eps));
      double dw = 0, db = 0;
      if (of_batch || grad_weight.defined())
        dw = channel_sum<T>(input, c, [=](int64_t i) { return g[i] * ((x[i] - m) * inverse); });
      if (of_batch || grad_bias.defined()) db = channel_sum<T>(input, c, [=](int64_t i) { return g[i]; });
      if (grad_weight.defined()) grad_weight.ptr<T>()[c] = static_cast<T>(dw);
      if (grad_bias.defined()) grad_bias.ptr<T>()[c] = static_cast<T>(db);
      if (!grad_input.defined()) return;
      T* out = grad_input.ptr<T>();
      const T scale = (w != nullptr ? w[c] : T(1)) * inverse;
      const T level = of_batch ? static_cast<T>(db / count) : T(0),
              slope = of_batch ? static_cast<T>(dw / count) * inverse : T(0);
      for_channel(input, c, [=](int64_t i) { out[i] = scale * (g[i] - level - (x[i] - m) * slope); });
    });
  });
}

}  // namespace

constinit const BatchNormKernels batch_norm_kernels{.batch_statistics = batch_statistics,
                                                    .batch_normalize = batch_normalize,
                                                    .batch_backward = batch_backward,
                                                    .layer_normalize = layer_normalize,
                                                    .layer_backward = layer_backward};

}  // namespace tandem::cpu
