// Batch normalisation on the CPU: one task per channel, so every sum has a fixed order.
#include <algorithm>
#include <cmath>

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/cpu/moments.h"
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

// Calls run(index in the block, begin, end) for runs of at most 4096 elements. Each channel's runs come in order.
template <class Run>
void for_runs(const Tensor& input, ChannelBlock block, Run&& run) {
  for_planes(input, block, [&](int64_t c, int64_t start, int64_t end) {
    for (; start < end; start += 4096) run(c - block.begin, start, std::min(end, start + 4096));
  });
}

// One number per channel of a block.
using Totals = double[kMaxChannels];

// Adds the sum of f(position, index in the block) over each channel: in lanes within a run, in double across runs.
template <class T, class F>
void channel_sums(const Tensor& input, ChannelBlock block, Totals& totals, F&& f) {
  for_runs(input, block, [&](int64_t c, int64_t i, int64_t end) {
    T lanes[kSums] = {}, rest = 0;
    for (; i + kSums <= end; i += kSums)
      for (int k = 0; k < kSums; ++k) lanes[k] += f(i + k, c);
    for (; i < end; ++i) rest += f(i, c);
    for (int k = 0; k < kSums; ++k) totals[c] += static_cast<double>(lanes[k]);
    totals[c] += static_cast<double>(rest);
  });
}

// The deviations are from a rounded mean. Corrects the results with the mean of the deviations and its
// square.
void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  dispatch(input.dtype(), FloatTypes{}, "batch_norm", [&]<class T>(Type<T>) {
    const T* x = input.ptr<T>();
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_blocks(input, [&](ChannelBlock block) {
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
  dispatch(out.dtype(), FloatTypes{}, "batch_norm", [&]<class T>(Type<T>) {
    const T *x = input.ptr<T>(), *w = data_or_null<T>(weight), *b = data_or_null<T>(bias);
    T* y = out.ptr<T>();
    const int64_t channels = input.size(1), inner = input.size(2);
    const Workspace<T> memory(channels);
    T* scale = memory.data();
    for (int64_t c = 0; c < channels; ++c)
      scale[c] = (w != nullptr ? w[c] : T(1)) / std::sqrt(variance.ptr<T>()[c] + static_cast<T>(eps));
    parallel_for(input.size(0) * channels, std::max<int64_t>(1, 16384 / std::max<int64_t>(1, inner)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t plane = begin; plane < end; ++plane) {
                     const int64_t c = plane % channels;
                     const T m = mean.ptr<T>()[c], shift = b != nullptr ? b[c] : T(0), factor = scale[c];
                     for (int64_t i = plane * inner; i < (plane + 1) * inner; ++i) y[i] = (x[i] - m) * factor + shift;
                   }
                 });
  });
}

// With h = (x - mean) / s, s = sqrt(variance + eps): dw = sum g h, db = sum g, and dx = w / s (g - db / count
// - h dw / count), or w / s g where mean and variance are constants.
void batch_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& mean, const Tensor& variance,
                    const Tensor& weight, double eps, bool of_batch) {
  dispatch(input.dtype(), FloatTypes{}, "batch_norm_backward", [&]<class T>(Type<T>) {
    const T *x = input.ptr<T>(), *g = grad_output.ptr<T>(), *w = data_or_null<T>(weight);
    const double count = static_cast<double>(input.size(0) * input.size(2));
    parallel_blocks(input, [&](ChannelBlock block) {
      Totals dw{}, db{};
      T means[kMaxChannels], inverses[kMaxChannels];
      for (int64_t c = block.begin; c < block.end; ++c) {
        means[c - block.begin] = mean.ptr<T>()[c];
        inverses[c - block.begin] = T(1) / std::sqrt(variance.ptr<T>()[c] + static_cast<T>(eps));
      }
      if (of_batch || grad_weight.defined())
        channel_sums<T>(input, block, dw,
                        [&](int64_t i, int64_t c) { return g[i] * ((x[i] - means[c]) * inverses[c]); });
      if (of_batch || grad_bias.defined()) channel_sums<T>(input, block, db, [=](int64_t i, int64_t) { return g[i]; });
      for (int64_t c = block.begin; c < block.end; ++c) {
        if (grad_weight.defined()) grad_weight.ptr<T>()[c] = static_cast<T>(dw[c - block.begin]);
        if (grad_bias.defined()) grad_bias.ptr<T>()[c] = static_cast<T>(db[c - block.begin]);
      }
      if (!grad_input.defined()) return;
      T* out = grad_input.ptr<T>();
      for_planes(input, block, [&](int64_t c, int64_t i, int64_t end) {
        const int64_t at = c - block.begin;
        const T m = means[at], inverse = inverses[at], scale = (w != nullptr ? w[c] : T(1)) * inverse;
        const T level = of_batch ? static_cast<T>(db[at] / count) : T(0),
                slope = of_batch ? static_cast<T>(dw[at] / count) * inverse : T(0);
        for (; i < end; ++i) out[i] = scale * (g[i] - level - (x[i] - m) * slope);
      });
    });
  });
}

}  // namespace

constinit const BatchNormKernels batch_norm_kernels{
    .statistics = batch_statistics, .normalize = batch_normalize, .backward = batch_backward};

}  // namespace tandem::cpu
