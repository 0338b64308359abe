// Layer normalisation of rows on CUDA. `lanes` threads share a row and read it once per pass, later passes from the cache.
// Gradients of weight and bias are sums over columns, in parts that the shape determines, in double.
#include "tandem/cuda/device.h"

#include <algorithm>
#include <cmath>

#include "tandem/core/backend/layer_norm.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/line_geometry.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/unroll.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {
namespace {

constexpr int64_t kMaxBlocks = 4096;
constexpr int64_t kWarpRow = 2048;  // longer rows take a whole block

template <class S, int kCount>
struct alignas(kCount * sizeof(S)) Pack {
  S x[kCount];
};

// Two sums at once.
template <class T>
struct Sums {
  T first, second;
  friend __device__ Sums operator+(Sums a, Sums b) { return {a.first + b.first, a.second + b.second}; }
  friend __device__ Sums shuffle_xor(Sums value, int apart) {
    return {cuda_impl::shuffle_xor(value.first, apart), cuda_impl::shuffle_xor(value.second, apart)};
  }
};

// What the normalisation of one row needs.
template <class T>
struct Row {
  T mean, scale, shift;
  __device__ explicit Row(const T* statistics) : Row(statistics[0], statistics[1], statistics[2]) {}
  __device__ Row(T rounded, T off, T inverse) : mean(rounded), scale(inverse), shift(-off * inverse) {}
  __device__ T operator()(T x) const { return (x - mean) * scale + shift; }
};

template <class State>
__device__ State fold_row(State state, int lanes, State* shared) {
  return lanes <= 32 ? fold_warp(state, Plus(), lanes) : fold_block(state, shared, Plus());
}

template <class S, int kCount, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    normalize_rows(S* out, T* statistics, const S* in, const T* weight, const T* bias, T eps, int64_t rows, int64_t n,
                   int lanes) {
  using Packs = Pack<S, kCount>;
  __shared__ T shared_sum[kLineThreads / 32];
  __shared__ Sums<T> shared_sums[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int64_t row = int64_t{blockIdx.x} * (kLineThreads / lanes) + thread / lanes;
  const bool active = row < rows;
  const int64_t packs = active ? n / kCount : 0;
  const auto* x = reinterpret_cast<const Packs*>(in + (active ? row * n : 0));
  T sum = 0;
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs pack = x[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) sum += static_cast<T>(pack.x[k]);
  }
  const T count = static_cast<T>(n), mean = fold_row(sum, lanes, shared_sum) / count;
  Sums<T> moments{0, 0};
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs pack = x[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const T far = static_cast<T>(pack.x[k]) - mean;
      moments.first += far;
      moments.second += far * far;
    }
  }
  moments = fold_row(moments, lanes, shared_sums);
  if (!active) return;
  // The mean is rounded: what it lacks is subtracted, too.
  const T off = moments.first / count, centred = moments.second / count - off * off;
  const T variance = centred < T(0) ? T(0) : centred, inverse = T(1) / std::sqrt(variance + eps);
  if (lane == 0) {
    statistics[3 * row] = mean;
    statistics[3 * row + 1] = off;
    statistics[3 * row + 2] = inverse;
  }
  const Row<T> normal(mean, off, inverse);
  auto* to = reinterpret_cast<Packs*>(out + row * n);
  for (int64_t i = lane; i < packs; i += lanes) {
    Packs pack = x[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      T y = normal(static_cast<T>(pack.x[k]));
      if (weight != nullptr) y *= weight[i * kCount + k];
      if (bias != nullptr) y += bias[i * kCount + k];
      pack.x[k] = static_cast<S>(y);
    }
    to[i] = pack;
  }
}

// With h the normalised row and u = g weight: scale (u - mean(u) - h mean(u h)).
template <class S, int kCount, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads) input_gradient(S* out, const S* grad, const S* in, const T* statistics,
                                                               const T* weight, int64_t rows, int64_t n, int lanes) {
  using Packs = Pack<S, kCount>;
  __shared__ Sums<T> shared[kLineThreads / 32];
  const int thread = static_cast<int>(threadIdx.x), lane = thread & (lanes - 1);
  const int64_t row = int64_t{blockIdx.x} * (kLineThreads / lanes) + thread / lanes;
  const bool active = row < rows;
  const int64_t packs = active ? n / kCount : 0, start = active ? row * n : 0;
  const auto *x = reinterpret_cast<const Packs*>(in + start), *g = reinterpret_cast<const Packs*>(grad + start);
  const Row<T> normal(statistics + (active ? 3 * row : 0));
  const auto u = [&](const Packs& pack, int64_t i, int k) {
    return static_cast<T>(pack.x[k]) * (weight != nullptr ? weight[i * kCount + k] : T(1));
  };
  Sums<T> sums{0, 0};
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs px = x[i], pg = g[i];
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const T value = u(pg, i, k);
      sums.first += value;
      sums.second += value * normal(static_cast<T>(px.x[k]));
    }
  }
  sums = fold_row(sums, lanes, shared);
  if (!active) return;
  const T level = sums.first / static_cast<T>(n), slope = sums.second / static_cast<T>(n);
  auto* to = reinterpret_cast<Packs*>(out + start);
  for (int64_t i = lane; i < packs; i += lanes) {
    const Packs px = x[i], pg = g[i];
    Packs y;
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      y.x[k] = static_cast<S>(normal.scale * ((u(pg, i, k) - level) - normal(static_cast<T>(px.x[k])) * slope));
    to[i] = y;
  }
}

// partial [parts, n, 2]: sums of g h and of g over the rows of a part.
template <class S, class T = computed_t<S>>
__global__ void __launch_bounds__(kLineThreads)
    sum_columns(double* partial, const S* grad, const S* in, const T* statistics, int64_t part_size, int64_t rows,
                int64_t n, int64_t tiles, int lines) {
  __shared__ Sums<double> shared[kLineThreads];
  const int thread = static_cast<int>(threadIdx.x), across = kLineThreads / lines, line = thread / across;
  const int64_t part = blockIdx.x / tiles, column = (blockIdx.x - part * tiles) * across + thread % across;
  const int64_t from = part * part_size, until = from + part_size < rows ? from + part_size : rows;
  Sums<double> sums{0, 0};
  if (column < n)
    for (int64_t r = from + line; r < until; r += lines) {
      const T g = static_cast<T>(grad[r * n + column]);
      const T h = Row<T>(statistics + 3 * r)(static_cast<T>(in[r * n + column]));
      sums = sums + Sums<double>{static_cast<double>(g * h), static_cast<double>(g)};
    }
  shared[thread] = sums;
  __syncthreads();
  if (line != 0 || column >= n) return;
  for (int l = 1; l < lines; ++l) sums = sums + shared[l * across + thread];
  partial[2 * (part * n + column)] = sums.first;
  partial[2 * (part * n + column) + 1] = sums.second;
}

template <class T>
__global__ void join(T* grad_weight, T* grad_bias, const double* partial, int64_t parts, int64_t n) {
  const int64_t column = int64_t{blockIdx.x} * blockDim.x + threadIdx.x;
  if (column >= n) return;
  double weight = 0, bias = 0;
  for (int64_t part = 0; part < parts; ++part) {
    weight += partial[2 * (part * n + column)];
    bias += partial[2 * (part * n + column) + 1];
  }
  if (grad_weight != nullptr) grad_weight[column] = static_cast<T>(weight);
  if (grad_bias != nullptr) grad_bias[column] = static_cast<T>(bias);
}

// ---- host

template <class T>
T* data_or_null(const Tensor& t) {
  return t.defined() ? t.ptr<T>() : nullptr;
}

// Calls run(elements accessed at once) as a constant.
template <class S, class Run>
void by_vectors(int64_t n, std::initializer_list<const void*> pointers, Run run) {
  constexpr int kVector = 16 / sizeof(S);
  bool vector = n % kVector == 0;
  for (const void* p : pointers) vector = vector && reinterpret_cast<uintptr_t>(p) % 16 == 0;
  if (vector)
    run(std::integral_constant<int, kVector>{});
  else
    run(std::integral_constant<int, 1>{});
}

int lanes_of(int64_t n) { return n <= kWarpRow ? 32 : kLineThreads; }
Grid grid_of(int64_t rows, int lanes) { return {ceil_div(rows, kLineThreads / lanes), kLineThreads}; }

void forward(const Tensor& out, const Tensor& statistics, const Tensor& input, const Tensor& weight, const Tensor& bias,
             double eps) {
  const Tensor weights = tandem::detail::computed(weight), biases = tandem::detail::computed(bias);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    const int64_t rows = input.size(0), n = input.size(1);
    const int lanes = lanes_of(n);
    by_vectors<S>(n, {out.data_ptr(), input.data_ptr()}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      launch("layer_norm", context(out.device()), grid_of(rows, lanes), normalize_rows<S, kCount>, out.ptr<S>(),
             statistics.ptr<T>(), static_cast<const S*>(input.ptr<S>()),
             static_cast<const T*>(data_or_null<T>(weights)), static_cast<const T*>(data_or_null<T>(biases)),
             static_cast<T>(eps), rows, n, lanes);
    });
  });
}

template <class S, class T = computed_t<S>>
void parameter_gradients(Context& c, const Tensor& grad_weight, const Tensor& grad_bias, const S* grad, const S* in,
                         const T* statistics, int64_t rows, int64_t n) {
  const int lines = column_rows(rows);
  const int64_t tiles = ceil_div(n, kLineThreads / lines);
  const int64_t wanted = std::clamp<int64_t>(rows / (32 * lines), 1, std::max<int64_t>(1, kMaxBlocks / tiles));
  const int64_t part_size = ceil_div(rows, wanted), parts = ceil_div(rows, part_size);
  const Tensor partial = empty_raw({2 * parts * n}, kDouble, c.device());
  launch("layer_norm_backward", c, {tiles * parts, kLineThreads}, sum_columns<S>, partial.ptr<double>(), grad, in,
         statistics, part_size, rows, n, tiles, lines);
  launch("layer_norm_backward", c, {ceil_div(n, kLineThreads), kLineThreads}, join<T>, data_or_null<T>(grad_weight),
         data_or_null<T>(grad_bias), static_cast<const double*>(partial.ptr<double>()), parts, n);
}

void backward(const Tensor& grad_input, const Tensor& grad_weight, const Tensor& grad_bias, const Tensor& grad_output,
              const Tensor& input, const Tensor& statistics, const Tensor& weight) {
  const Tensor weights = tandem::detail::computed(weight);
  dispatch(input.dtype(), StoredFloats{}, "layer_norm_backward", [&]<class S>(Type<S>) {
    using T = computed_t<S>;
    Context& c = context(input.device());
    const int64_t rows = input.size(0), n = input.size(1);
    const S *x = input.ptr<S>(), *g = grad_output.ptr<S>();
    const T *stats = statistics.ptr<T>(), *w = data_or_null<T>(weights);
    if (grad_weight.defined() || grad_bias.defined())
      parameter_gradients<S>(c, grad_weight, grad_bias, g, x, stats, rows, n);
    if (!grad_input.defined()) return;
    const int lanes = lanes_of(n);
    by_vectors<S>(n, {grad_input.data_ptr(), g, x}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      launch("layer_norm_backward", c, grid_of(rows, lanes), input_gradient<S, kCount>, grad_input.ptr<S>(), g, x,
             stats, w, rows, n, lanes);
    });
  });
}

}  // namespace

constinit const LayerNormKernels layer_norm_kernels{.forward = {forward, kTakesHalf},
                                                    .backward = {backward, kTakesHalf}};

}  // namespace tandem::cuda_impl
