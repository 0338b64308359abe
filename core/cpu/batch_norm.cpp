// Batch normalisation on the CPU: one task per channel, so every sum has a fixed order.
#include <algorithm>
#include <cmath>

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/cpu/moments.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/scratch.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

constexpr int kSums = 16;

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.ptr<T>() : nullptr;
}

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
  parallel_for(ceil_div(channels, step), std::max<int64_t>(1, 16384 / (elements * step)),
               [&](int64_t begin, int64_t end) {
                 for (int64_t b = begin; b < end; ++b) body({b * step, std::min(channels, (b + 1) * step)});
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

constexpr int64_t kMaxRun = 4096;

// Calls run(index in the block, begin, end) for runs of at most kMaxRun elements. Each channel's runs come in order.
template <class Run>
void for_runs(const Tensor& input, ChannelBlock block, Run&& run) {
  for_planes(input, block, [&](int64_t c, int64_t start, int64_t end) {
    for (; start < end; start += kMaxRun) run(c - block.begin, start, std::min(end, start + kMaxRun));
  });
}

// Runs of elements that are stored as S, in the type that is computed in.
template <class S, class T = computed_t<S>>
class Runs {
 public:
  explicit Runs(const S* data) : data_(data) {}
  // The elements [begin, end), until the next call.
  const T* operator()(int64_t begin, int64_t end) {
    if constexpr (std::is_same_v<S, T>) {
      return data_ + begin;
    } else {
      widen(scalar_type_of<S>, buffer_, data_ + begin, end - begin);
      return buffer_;
    }
  }

 private:
  const S* data_;
  T buffer_[std::is_same_v<S, T> ? 1 : kMaxRun];
};
// The same for results: room for the elements [begin, end), and their way into memory.
template <class S, class T = computed_t<S>>
class ResultRuns {
 public:
  explicit ResultRuns(S* data) : data_(data) {}
  T* operator()(int64_t begin) {
    if constexpr (std::is_same_v<S, T>)
      return data_ + begin;
    else
      return buffer_;
  }
  void store(int64_t begin, int64_t end) {
    if constexpr (!std::is_same_v<S, T>) narrow(scalar_type_of<S>, data_ + begin, buffer_, end - begin);
  }

 private:
  S* data_;
  T buffer_[std::is_same_v<S, T> ? 1 : kMaxRun];
};

// One number per channel of a block.
using Totals = double[kMaxChannels];

// Adds the sum of f(i), i < n: in lanes, and those in double.
template <class T, class F>
void add_sum(double& total, int64_t n, F&& f) {
  T lanes[kSums] = {}, rest = 0;
  int64_t i = 0;
  for (; i + kSums <= n; i += kSums)
    for (int k = 0; k < kSums; ++k) lanes[k] += f(i + k);
  for (; i < n; ++i) rest += f(i);
  for (int k = 0; k < kSums; ++k) total += static_cast<double>(lanes[k]);
  total += static_cast<double>(rest);
}

// The deviations are from a rounded mean. Corrects the results with the mean of the deviations and its
// square.
void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  dispatch(input.dtype(), StoredFloats{}, "batch_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_blocks(input, [&](ChannelBlock block) {
      Runs<S> x(input.ptr<S>());
      Totals sums{}, offsets{}, squares{};
      T rounded[kMaxChannels];
      for_runs(input, block,
               [&](int64_t c, int64_t i, int64_t end) { sums[c] += static_cast<double>(run_sum(x(i, end), end - i)); });
      for (int64_t c = 0; c < block.end - block.begin; ++c) rounded[c] = static_cast<T>(sums[c] / count);
      for_runs(input, block, [&](int64_t c, int64_t i, int64_t end) {
        const folds::Moments<T> run = run_moments(x(i, end), end - i, rounded[c]);
        offsets[c] += static_cast<double>(run.sum);
        squares[c] += static_cast<double>(run.squares);
      });
      for (int64_t c = 0; c < block.end - block.begin; ++c) {
        const double off = offsets[c] / count, square = squares[c] / count, centred = square - off * off;
        mean.ptr<T>()[block.begin + c] = static_cast<T>(static_cast<double>(rounded[c]) + off);
        variance.ptr<T>()[block.begin + c] = static_cast<T>(centred < 0 ? 0 : centred == centred ? centred : square);
      }
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
    parallel_for(input.size(0) * channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                 [&](int64_t begin, int64_t end) {
                   Runs<S> in(input.ptr<S>());
                   ResultRuns<S> results(out.ptr<S>());
                   for (int64_t plane = begin; plane < end; ++plane) {
                     const int64_t c = plane % channels, until = (plane + 1) * inner;
                     const T m = means.ptr<T>()[c], shift = b != nullptr ? b[c] : T(0), factor = scale[c];
                     for (int64_t at = plane * inner; at < until; at += kMaxRun) {
                       const int64_t count = std::min(kMaxRun, until - at);
                       const T* x = in(at, at + count);
                       T* y = results(at);
                       for (int64_t i = 0; i < count; ++i) y[i] = (x[i] - m) * factor + shift;
                       results.store(at, at + count);
                     }
                   }
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
      Runs<S> in(input.ptr<S>()), grad(grad_output.ptr<S>());
      Totals dw{}, db{};
      T means[kMaxChannels], inverses[kMaxChannels];
      for (int64_t c = block.begin; c < block.end; ++c) {
        means[c - block.begin] = all_means.ptr<T>()[c];
        inverses[c - block.begin] = T(1) / std::sqrt(variances.ptr<T>()[c] + static_cast<T>(eps));
      }
      const bool slopes = of_batch || grad_weight.defined(), levels = of_batch || grad_bias.defined();
      if (slopes || levels)
        for_runs(input, block, [&](int64_t c, int64_t begin, int64_t end) {
          const T *x = in(begin, end), *g = grad(begin, end), m = means[c], inverse = inverses[c];
          if (slopes) add_sum<T>(dw[c], end - begin, [=](int64_t i) { return g[i] * ((x[i] - m) * inverse); });
          if (levels) add_sum<T>(db[c], end - begin, [=](int64_t i) { return g[i]; });
        });
      for (int64_t c = block.begin; c < block.end; ++c) {
        if (grad_weight.defined()) grad_weight.ptr<T>()[c] = static_cast<T>(dw[c - block.begin]);
        if (grad_bias.defined()) grad_bias.ptr<T>()[c] = static_cast<T>(db[c - block.begin]);
      }
      if (!grad_input.defined()) return;
      ResultRuns<S> results(grad_input.ptr<S>());
      for_runs(input, block, [&](int64_t at, int64_t begin, int64_t end) {
        const T *x = in(begin, end), *g = grad(begin, end), m = means[at], inverse = inverses[at],
                scale = (w != nullptr ? w[block.begin + at] : T(1)) * inverse;
        const T level = of_batch ? static_cast<T>(db[at] / count) : T(0),
                slope = of_batch ? static_cast<T>(dw[at] / count) * inverse : T(0);
        T* out = results(begin);
        for (int64_t i = 0; i < end - begin; ++i) out[i] = scale * (g[i] - level - (x[i] - m) * slope);
        results.store(begin, end);
      });
    });
  });
}

}  // namespace

constinit const BatchNormKernels batch_norm_kernels{.statistics = {batch_statistics, kTakesHalf},
                                                    .normalize = {batch_normalize, kTakesHalf},
                                                    .backward = {batch_backward, kTakesHalf}};

}  // namespace tandem::cpu
