// Batch normalisation on CUDA. Statistics are reductions. The sums of the gradients are split into parts by
// the shape alone and added in double. Planes of a half type are computed in float32 (S is the stored type, T the
// computed one); what belongs to a channel is float32 then.
#include "tandem/cuda/device.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/backend/batch_norm.h"
#include "tandem/core/backend/reduce.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {
namespace {

constexpr int64_t kMaxBlocks = 4096;
template <class S>
constexpr int kVector = sizeof(S) == 2 ? 8 : 4;

template <class T>
const T* data_or_null(const Tensor& t) {
  return t.defined() ? t.ptr<T>() : nullptr;
}

// [N, C, S]
struct Shape {
  int64_t n, c, s;
  explicit Shape(const Tensor& input) : n(input.size(0)), c(input.size(1)), s(input.size(2)) {}
  int64_t numel() const { return n * c * s; }
};

template <class T>
struct Channels {
  const T *mean, *variance, *weight, *bias;
  T eps;
  __device__ T inverse(int64_t c) const { return T(1) / std::sqrt(variance[c] + eps); }
  __device__ T scale(int64_t c) const { return (weight != nullptr ? weight[c] : T(1)) * inverse(c); }
};

// The channel of an element of [N, C, S].
struct ChannelOf {
  bool wide;
  int64_t channels, inner;
  FastDivide by_channels, by_inner;

  explicit ChannelOf(const Shape& s)
      : wide(s.numel() >= int64_t{1} << 31),
        channels(s.c),
        inner(s.s),
        by_channels(wide || s.c == 0 ? 1 : static_cast<uint32_t>(s.c)),
        by_inner(wide || s.s == 0 ? 1 : static_cast<uint32_t>(s.s)) {}
  __device__ int64_t operator()(int64_t element) const {
    if (wide) return element / inner % channels;
    const uint32_t row = by_inner.quotient(static_cast<uint32_t>(element));
    return row - by_channels.quotient(row) * by_channels.divisor;
  }
};

// y = f(channel, x) for `kCount` adjacent elements of one channel at a time.
template <class T, int kCount>
struct alignas(kCount * sizeof(T)) Pack {
  T x[kCount];
};

template <class S, int kCount, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    normalize(Pack<S, kCount>* out, const Pack<S, kCount>* in, Channels<T> p, int64_t count, ChannelOf channel) {
  const int64_t apart = int64_t{gridDim.x} * kLineThreads;
  for (int64_t i = int64_t{blockIdx.x} * kLineThreads + threadIdx.x; i < count; i += apart) {
    const int64_t c = channel(i * kCount);
    const T scale = p.scale(c), mean = p.mean[c], shift = p.bias != nullptr ? p.bias[c] : T(0);
    Pack<S, kCount> x = in[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) x.x[k] = static_cast<S>((static_cast<T>(x.x[k]) - mean) * scale + shift);
    out[i] = x;
  }
}

// sums [channels, 2]: the sums of g h and of g, with h = (x - mean) / sqrt(variance + eps); null for constant
// statistics.
template <class S, int kCount, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    input_gradient(Pack<S, kCount>* out, const Pack<S, kCount>* grad, const Pack<S, kCount>* in, Channels<T> p,
                   const double* sums, int64_t elements, int64_t count, ChannelOf channel) {
  const int64_t apart = int64_t{gridDim.x} * kLineThreads;
  for (int64_t i = int64_t{blockIdx.x} * kLineThreads + threadIdx.x; i < count; i += apart) {
    const int64_t c = channel(i * kCount);
    const T inverse = p.inverse(c), scale = (p.weight != nullptr ? p.weight[c] : T(1)) * inverse, mean = p.mean[c];
    T level = 0, slope = 0;
    if (sums != nullptr) {
      slope = static_cast<T>(sums[2 * c] / static_cast<double>(elements)) * inverse;
      level = static_cast<T>(sums[2 * c + 1] / static_cast<double>(elements));
    }
    const Pack<S, kCount> x = in[i];
    Pack<S, kCount> g = grad[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      g.x[k] = static_cast<S>(scale * (static_cast<T>(g.x[k]) - level - (static_cast<T>(x.x[k]) - mean) * slope));
    out[i] = g;
  }
}

// Large planes: each block sums a part of a channel. partial [parts, channels, 2].
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    sum_images(double* partial, const S* grad, const S* in, Channels<T> p, int64_t part_size, int64_t elements,
               int64_t channels, int64_t inner) {
  __shared__ double shared[2][kLineThreads / 32];
  const int64_t part = blockIdx.x / channels, c = blockIdx.x - part * channels, from = part * part_size,
                until = from + part_size < elements ? from + part_size : elements;
  const T mean = p.mean[c], inverse = p.inverse(c);
  double gh = 0, sum = 0;
  // A thread advances by the block size, which is a few rows of an image: no division in the loop.
  const int64_t j = from + threadIdx.x;
  int64_t n = j / inner, s = j - n * inner;
  for (int64_t k = j; k < until; k += kLineThreads) {
    const int64_t at = (n * channels + c) * inner + s;
    const T g = static_cast<T>(grad[at]);
    gh += static_cast<double>(g * ((static_cast<T>(in[at]) - mean) * inverse));
    sum += static_cast<double>(g);
    for (s += kLineThreads; s >= inner; s -= inner) ++n;
  }
  gh = fold_block(gh, shared[0], Plus());
  sum = fold_block(sum, shared[1], Plus());
  if (threadIdx.x != 0) return;
  partial[2 * int64_t{blockIdx.x}] = gh;
  partial[2 * int64_t{blockIdx.x} + 1] = sum;
}

// Few elements per channel: sums [n, width = channels inner] by columns. partial [parts, width, 2].
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    sum_columns(double* partial, const S* grad, const S* in, Channels<T> p, int64_t part_size, int64_t n, int64_t width,
                int64_t inner, int64_t tiles, int rows) {
  __shared__ double shared[2][kLineThreads];
  const int thread = static_cast<int>(threadIdx.x), across = kLineThreads / rows, row = thread / across;
  const int64_t part = blockIdx.x / tiles, column = (blockIdx.x - part * tiles) * across + thread % across;
  const int64_t from = part * part_size, until = from + part_size < n ? from + part_size : n;
  double gh = 0, sum = 0;
  if (column < width) {
    const T mean = p.mean[column / inner], inverse = p.inverse(column / inner);
    for (int64_t i = from + row; i < until; i += rows) {
      const T g = static_cast<T>(grad[i * width + column]);
      gh += static_cast<double>(g * ((static_cast<T>(in[i * width + column]) - mean) * inverse));
      sum += static_cast<double>(g);
    }
  }
  shared[0][thread] = gh;
  shared[1][thread] = sum;
  __syncthreads();
  if (row != 0 || column >= width) return;
  for (int r = 1; r < rows; ++r) {
    gh += shared[0][r * across + thread];
    sum += shared[1][r * across + thread];
  }
  partial[2 * (part * width + column)] = gh;
  partial[2 * (part * width + column) + 1] = sum;
}

// One warp per channel: sums over parts and positions.
template <class T>
__global__ void __launch_bounds__(kLineThreads) join(double* sums, T* grad_weight, T* grad_bias, const double* partial,
                                                     int64_t parts, int64_t channels, int64_t inner) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t c = int64_t{blockIdx.x} * (kLineThreads / 32) + threadIdx.x / 32;
  double gh = 0, sum = 0;
  if (c < channels)
    for (int64_t j = lane; j < parts * inner; j += 32) {
      const int64_t part = j / inner, at = (part * channels + c) * inner + (j - part * inner);
      gh += partial[2 * at];
      sum += partial[2 * at + 1];
    }
  gh = fold_warp(gh, Plus());
  sum = fold_warp(sum, Plus());
  if (c >= channels || lane != 0) return;
  sums[2 * c] = gh;
  sums[2 * c + 1] = sum;
  if (grad_weight != nullptr) grad_weight[c] = static_cast<T>(gh);
  if (grad_bias != nullptr) grad_bias[c] = static_cast<T>(sum);
}

// ---- host

constexpr uint32_t kPlaces = 0b101;  // N and S, as a mask of reduced dimensions

void batch_statistics(const Tensor& mean, const Tensor& variance, const Tensor& input) {
  const int64_t channels = input.size(1), count = input.size(0) * input.size(2);
  const Tensor m = alias(mean, {1, channels, 1}, {channels, 1, 1}, 0),
               v = alias(variance, {1, channels, 1}, {channels, 1, 1}, 0);
  reduce_kernels.mean(m, input, kPlaces);
  reduce_kernels.squared_deviation(v, input, m, kPlaces, static_cast<double>(count), false);
}

template <class S>
bool vector_access_applies(const Shape& s, std::initializer_list<const void*> pointers) {
  bool all = s.s % kVector<S> == 0;
  for (const void* p : pointers) all = all && reinterpret_cast<uintptr_t>(p) % (kVector<S> * sizeof(S)) == 0;
  return all;
}

void batch_normalize(const Tensor& out, const Tensor& input, const Tensor& mean, const Tensor& variance,
                     const Tensor& weight, const Tensor& bias, double eps) {
  const Tensor m = tandem::detail::computed(mean), v = tandem::detail::computed(variance),
               w = tandem::detail::computed(weight), b = tandem::detail::computed(bias);
  dispatch(out.dtype(), StoredFloats{}, "batch_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(out.device());
    const Shape s(input);
    const Channels<T> p{m.ptr<T>(), v.ptr<T>(), data_or_null<T>(w), data_or_null<T>(b), static_cast<T>(eps)};
    const auto go = [&]<int kCount>(std::integral_constant<int, kCount>) {
      using Packs = Pack<S, kCount>;
      launch("batch_norm", c, strided_grid(c.gpu(), s.numel() / kCount), normalize<S, kCount>,
             static_cast<Packs*>(out.data_ptr()), static_cast<const Packs*>(input.data_ptr()), p, s.numel() / kCount,
             ChannelOf(s));
    };
    if (vector_access_applies<S>(s, {out.data_ptr(), input.data_ptr()}))
      go(std::integral_constant<int, kVector<S>>{});
    else
      go(std::integral_constant<int, 1>{});
  });
}

// Launches the sums of both gradients into `sums` [C, 2] and, if requested, into the gradients.
template <class S, class T = computed_t<S>>
void sum_channels(Context& c, double* sums, const Tensor& grad_weight, const Tensor& grad_bias, const S* grad,
                  const S* in, const Channels<T>& p, const Shape& s) {
  const bool images = s.s >= 32;
  const int64_t width = images ? s.c : s.c * s.s, length = images ? s.n * s.s : s.n;
  const int rows = images ? 1 : column_rows(s.n);
  const int64_t tiles = images ? s.c : ceil_div(width, kLineThreads / rows), least = images ? 8192 : 32 * rows;
  const int64_t wanted =
      std::clamp<int64_t>(length / least, 1, std::max<int64_t>(1, kMaxBlocks / std::max<int64_t>(1, tiles)));
  const int64_t part_size = std::max<int64_t>(1, ceil_div(length, wanted)), parts = ceil_div(length, part_size);
  const Tensor partial = empty_raw({std::max<int64_t>(1, 2 * parts * width)}, kDouble, c.device());
  double* to = partial.ptr<double>();
  if (images)
    launch("batch_norm_backward", c, {tiles * parts, kLineThreads}, sum_images<S>, to, grad, in, p, part_size, length,
           s.c, s.s);
  else
    launch("batch_norm_backward", c, {tiles * parts, kLineThreads}, sum_columns<S>, to, grad, in, p, part_size, length,
           width, s.s, tiles, rows);
  launch("batch_norm_backward", c, {ceil_div(s.c, kLineThreads / 32), kLineThreads}, join<T>, sums,
         grad_weight.defined() ? grad_weight.ptr<T>() : nullptr, grad_bias.defined() ? grad_bias.ptr<T>() : nullptr, to,
         parts, s.c, images ? 1 : s.s);
}

// dw = sum g h, db = sum g, and dx = w / s (g - db / count - h dw / count) with s = sqrt(variance + eps), or
// w / s g where mean and variance are constants.
void batch_backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias,
                    const Tensor& grad_output, const Tensor& input, const Tensor& mean, const Tensor& variance,
                    const Tensor& weight, double eps, bool of_batch) {
  const Tensor m = tandem::detail::computed(mean), v = tandem::detail::computed(variance),
               w = tandem::detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "batch_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const Shape s(input);
    const Channels<T> p{m.ptr<T>(), v.ptr<T>(), data_or_null<T>(w), nullptr, static_cast<T>(eps)};
    const S *x = input.ptr<S>(), *g = grad_output.ptr<S>();
    const Tensor scratch = empty_raw({std::max<int64_t>(1, 2 * s.c)}, kDouble, c.device());
    double* sums = scratch.ptr<double>();
    if (grad_weight.defined() || grad_bias.defined() || (of_batch && grad_input.defined()))
      sum_channels<S>(c, sums, grad_weight, grad_bias, g, x, p, s);
    if (!grad_input.defined()) return;
    const auto go = [&]<int kCount>(std::integral_constant<int, kCount>) {
      using Packs = Pack<S, kCount>;
      launch("batch_norm_backward", c, strided_grid(c.gpu(), s.numel() / kCount), input_gradient<S, kCount>,
             static_cast<Packs*>(grad_input.data_ptr()), static_cast<const Packs*>(grad_output.data_ptr()),
             static_cast<const Packs*>(input.data_ptr()), p, of_batch ? sums : nullptr, s.n * s.s, s.numel() / kCount,
             ChannelOf(s));
    };
    if (vector_access_applies<S>(s, {grad_input.data_ptr(), g, x}))
      go(std::integral_constant<int, kVector<S>>{});
    else
      go(std::integral_constant<int, 1>{});
  });
}

}  // namespace

constinit const BatchNormKernels batch_norm_kernels{.statistics = {batch_statistics, kTakesHalf},
                                                    .normalize = {batch_normalize, kTakesHalf},
                                                    .backward = {batch_backward, kTakesHalf}};

}  // namespace tandem::cuda_impl
