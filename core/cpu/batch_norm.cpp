// Batch normalisation on the CPU: one task per channel, so every sum has a fixed order.
#include <algorithm>
#include <cmath>

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/linalg/load_wide.h"
#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/norm_math.h"

namespace tandem::cpu {
namespace {

// Channels that one task takes together: their planes are contiguous in each image, which the processor prefetches.
// Further passes over them find them in the L2 cache.
constexpr int64_t kBlockBytes = 384 << 10, kMaxChannels = 16;

struct ChannelBlock {
  int64_t begin, end;
};

// Calls body(block) for blocks of the channels of [N, C, S].
template <class Body>
void parallel_blocks(const Tensor& input, Body&& body) {
  const int64_t elements = std::max<int64_t>(1, input.size(0) * input.size(2)), channels = input.size(1);
  const int64_t step = std::clamp<int64_t>(kBlockBytes / (elements * item_size(input.scalar_type())), 1, kMaxChannels);
  parallel_for_each(ceil_div(channels, step), std::max<int64_t>(1, 16384 / (elements * step)), [&](int64_t b) {
    body({b * step, std::min(channels, (b + 1) * step)});
  });
}

// Calls plane(c, begin, end) for the planes of the block, image by image.
template <class Plane>
void for_planes(const Tensor& input, ChannelBlock block, Plane&& plane) {
  const int64_t channels = input.size(1), inner = input.size(2);
  for (int64_t n = 0; n < input.size(0); ++n)
    for (int64_t c = block.begin; c < block.end; ++c) {
      const int64_t start = (n * channels + c) * inner;
      plane(c, start, start + inner);
    }
}

// Calls run(index in the block, begin, end) for runs of at most kNormRun elements. Each channel's runs come in order.
template <class Run>
void for_runs(const Tensor& input, ChannelBlock block, Run&& run) {
  for_planes(input, block, [&](int64_t c, int64_t start, int64_t end) {
    for (; start < end; start += kNormRun) run(c - block.begin, start, std::min(end, start + kNormRun));
  });
}

// One number per channel of a block.
using Totals = double[kMaxChannels];

// Adds the sums of g[i] h[i], where h[i] = (x[i] - mean) inverse, and of g[i], i < n: in kNormGradientLanes lanes, and
// those in double.
template <class T, class S>
void add_sums(double& products, double& plain, int64_t n, const S* x, const S* g, T mean, T inverse) {
  constexpr int kWidth = kLanes<T>, kVectors = kNormGradientLanes / kWidth;
  Vec<T> lanes[kVectors] = {}, levels[kVectors] = {};
  T rest = 0, level = 0;
  int64_t i = 0;
  for (; i + kNormGradientLanes <= n; i += kNormGradientLanes)
    for (int v = 0; v < kVectors; ++v) {
      const Vec<T> values = load_wide<T>(g + i + v * kWidth);
      lanes[v] = fma(values, (load_wide<T>(x + i + v * kWidth) - mean) * inverse, lanes[v]);
      levels[v] += values;
    }
  for (; i < n; ++i) {
    const T value = static_cast<T>(g[i]);
    rest = math::fma(value, (static_cast<T>(x[i]) - mean) * inverse, rest);
    level += value;
  }
  for (int k = 0; n >= kNormGradientLanes && k < kNormGradientLanes; ++k) {
    products += static_cast<double>(lanes[k / kWidth][k % kWidth]);
    plain += static_cast<double>(levels[k / kWidth][k % kWidth]);
  }
  products += static_cast<double>(rest);
  plain += static_cast<double>(level);
}

// The deviations are from a rounded mean. Corrects the results with the mean of the deviations and its
// square.
void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  dispatch(input.dtype(), StoredFloats{}, "batch_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_blocks(input, [&](ChannelBlock block) {
      const S* x = input.ptr<S>();
      Totals sums{}, offsets{}, squares{};
      T rounded[kMaxChannels];
      for_runs(input, block,
               [&](int64_t c, int64_t i, int64_t end) { sums[c] += static_cast<double>(run_sum(x + i, end - i)); });
      for (int64_t c = 0; c < block.end - block.begin; ++c) rounded[c] = static_cast<T>(sums[c] / count);
      for_runs(input, block, [&](int64_t c, int64_t i, int64_t end) {
        const folds::Moments<T> run = run_moments(x + i, end - i, rounded[c]);
        offsets[c] += static_cast<double>(run.sum);
        squares[c] += static_cast<double>(run.squares);
      });
      for (int64_t c = 0; c < block.end - block.begin; ++c)
        store_batch_statistics(mean.ptr<T>() + block.begin + c, variance.ptr<T>() + block.begin + c, rounded[c],
                               offsets[c], squares[c], count);
    });
  });
}

void batch_normalize(const Tensor& out, const Tensor& input, const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor means = detail::computed(mean), variances = detail::computed(variance),
               weights = detail::computed(weight), biases = detail::computed(bias);
  dispatch(out.dtype(), StoredFloats{}, "batch_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const T *w = data_or_null<T>(weights), *b = data_or_null<T>(biases);
    const int64_t channels = input.size(1), inner = input.size(2);
    const Workspace<T> memory(channels);
    T* scale = memory.data();
    for (int64_t c = 0; c < channels; ++c)
      scale[c] = (w != nullptr ? w[c] : T(1)) / std::sqrt(variances.ptr<T>()[c] + static_cast<T>(eps));
    if (inner == 1)  // also channels-last tensors
      return parallel_for(
          input.size(0), std::max<int64_t>(1, 16384 / std::max<int64_t>(1, channels)), [&](int64_t begin, int64_t end) {
            const T* m = means.ptr<T>();
            for (int64_t n = begin; n < end; ++n) {
              const S* x = input.ptr<S>() + n * channels;
              S* y = out.ptr<S>() + n * channels;
              for (int64_t c = 0; c < channels; ++c)
                y[c] = static_cast<S>((static_cast<T>(x[c]) - m[c]) * scale[c] + (b != nullptr ? b[c] : T(0)));
            }
          });
    parallel_for_each(input.size(0) * channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                      [&](int64_t plane) {
                        const int64_t c = plane % channels;
                        const T m = means.ptr<T>()[c], shift = b != nullptr ? b[c] : T(0), factor = scale[c];
                        const S* x = input.ptr<S>() + plane * inner;
                        S* y = out.ptr<S>() + plane * inner;
                        int64_t i = 0;
                        for (; i + kLanes<T> <= inner; i += kLanes<T>)
                          store_narrow<T>(y + i, (load_wide<T>(x + i) - m) * factor + shift);
                        for (; i < inner; ++i) y[i] = static_cast<S>((static_cast<T>(x[i]) - m) * factor + shift);
                      });
  });
}

// With h = (x - mean) / s, s = sqrt(variance + eps): dw = sum g h, db = sum g, and dx = w / s (g - db / count
// - h dw / count), or w / s g where mean and variance are constants.
void batch_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& mean, const Tensor& variance,
                    const Tensor& weight, double eps, bool of_batch) {
  const Tensor all_means = detail::computed(mean), variances = detail::computed(variance),
               weights = detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "batch_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const T* w = data_or_null<T>(weights);
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_blocks(input, [&](ChannelBlock block) {
      const S *x = input.ptr<S>(), *g = grad_output.ptr<S>();
      Totals dw{}, db{};
      T means[kMaxChannels], inverses[kMaxChannels];
      for (int64_t c = block.begin; c < block.end; ++c) {
        means[c - block.begin] = all_means.ptr<T>()[c];
        inverses[c - block.begin] = T(1) / std::sqrt(variances.ptr<T>()[c] + static_cast<T>(eps));
      }
      if (of_batch || grad_weight.defined() || grad_bias.defined())
        for_runs(input, block, [&](int64_t c, int64_t begin, int64_t end) {
          add_sums<T>(dw[c], db[c], end - begin, x + begin, g + begin, means[c], inverses[c]);
        });
      for (int64_t c = block.begin; c < block.end; ++c) {
        if (grad_weight.defined()) grad_weight.ptr<T>()[c] = static_cast<T>(dw[c - block.begin]);
        if (grad_bias.defined()) grad_bias.ptr<T>()[c] = static_cast<T>(db[c - block.begin]);
      }
      if (!grad_input.defined()) return;
      for_runs(input, block, [&](int64_t at, int64_t begin, int64_t end) {
        const T m = means[at], inverse = inverses[at], scale = (w != nullptr ? w[block.begin + at] : T(1)) * inverse;
        const T level = of_batch ? static_cast<T>(db[at] / count) : T(0),
                slope = of_batch ? static_cast<T>(dw[at] / count) * inverse : T(0);
        S* dx = grad_input.ptr<S>();
        int64_t i = begin;
        for (; i + kLanes<T> <= end; i += kLanes<T>)
          store_narrow<T>(dx + i, scale * (load_wide<T>(g + i) - level - (load_wide<T>(x + i) - m) * slope));
        for (; i < end; ++i)
          dx[i] = static_cast<S>(scale * (static_cast<T>(g[i]) - level - (static_cast<T>(x[i]) - m) * slope));
      });
    });
  });
}

}  // namespace

constinit const BatchNormKernels batch_norm_kernels{.statistics = {batch_statistics, kTakesHalf},
                                                    .normalize = {batch_normalize, kTakesHalf},
                                                    .backward = {batch_backward, kTakesHalf}};

}  // namespace tandem::cpu
