// 2-d pooling of channels-last tensors. A thread has neighbouring channels of one pixel, 16 bytes of them where the
// number of channels allows it; neighbouring threads have the next channels. Rules and order of additions are those of
// pool2d.cu, but for the averages of large windows, which several threads share there.
#include "tandem/cuda/ops/pool2d_channels.h"

#include "tandem/core/backend/pool.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/strict/window_sum.h"

namespace tandem::cuda_impl {
namespace {

// Some channels of one pixel: `at` is its place among pixels of the results, `first` its element.
struct Spot {
  Place at;
  uint32_t first, channel;
};
// The geometry, and the number of channels.
template <class Shape>
struct Images : Shape {
  FastDivide channels;

  __device__ Spot spot(uint32_t first, const FastDivide& height, const FastDivide& width) const {
    const uint32_t pixel = channels.quotient(first);
    return {place_of(pixel, height, width), first, first - pixel * channels.divisor};
  }
  // The element of the same channel in pixel (h, w) of planes of another size.
  __device__ uint32_t element(const Spot& s, int32_t height, int32_t width, int32_t h, int32_t w) const {
    return ((s.at.plane * height + h) * width + w) * channels.divisor + s.channel;
  }
};

template <int kCount, class S>
__device__ inline Pack<S, kCount> load(const S* at) {
  return *reinterpret_cast<const Pack<S, kCount>*>(at);
}

// ---- averages

struct Window {
  Range h, w;
  __device__ bool empty() const { return h.begin >= h.end || w.begin >= w.end; }
  __device__ int32_t size() const { return (h.end - h.begin) * (w.end - w.begin); }
};
__device__ inline Window window_of(const PoolShape& s, int32_t p, int32_t q) {
  int32_t padded = 0;
  return {s.h.window(p, padded), s.w.window(q, padded)};
}
__device__ inline Window window_of(const AdaptivePoolShape& s, int32_t p, int32_t q) {
  return {s.h.window(p), s.w.window(q)};
}
__device__ inline int32_t divisor_at(const AdaptivePoolShape& s, int32_t p, int32_t q) {
  return window_of(s, p, q).size();
}
// Whether windows are 2 x 2, whose elements are added in pairs and multiplied by the inverse, like on the CPU.
__device__ inline bool halves(const PoolShape& s) { return s.halves; }
__device__ inline bool halves(const AdaptivePoolShape&) { return false; }

// kInOrder: as on the CPU, with kCount == 1.
template <class S, int kCount, class Shape, bool kInOrder = false, class T = computed_t<S>>
__global__ void mean_kernel(Images<Shape> s, uint32_t n, S* out, const S* input) {
  const uint32_t first = thread_index() * kCount;
  if (first >= n) return;
  const Spot spot = s.spot(first, s.out_h, s.out_w);
  const Window window = window_of(s, spot.at.h, spot.at.w);
  const auto at = [&](int32_t i, int32_t j) { return load<kCount>(input + s.element(spot, s.h.in, s.w.in, i, j)); };
  Pack<S, kCount> y;
  if (halves(s)) {
    const int32_t i = 2 * spot.at.h, j = 2 * spot.at.w;
    const Pack<S, kCount> a = at(i, j), b = at(i, j + 1), d = at(i + 1, j), e = at(i + 1, j + 1);
    const T scale = T(1) / static_cast<T>(divisor_at(s, spot.at.h, spot.at.w));
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k)
      y.x[k] = static_cast<S>(((T(a.x[k]) + T(b.x[k])) + (T(d.x[k]) + T(e.x[k]))) * scale);
  } else {
    T sums[kCount] = {};
    if constexpr (kInOrder) {
      sums[0] = strict::window_sum<T>(window.h, window.w, s.w.in,
                                      [&](int32_t place) { return static_cast<T>(at(0, place).x[0]); });
    } else {
      for (int32_t i = window.h.begin; i < window.h.end; ++i)
        for (int32_t j = window.w.begin; j < window.w.end; ++j) {
          const Pack<S, kCount> x = at(i, j);
          TANDEM_UNROLL
          for (int k = 0; k < kCount; ++k) sums[k] += static_cast<T>(x.x[k]);
        }
    }
    const T divisor = window.empty() ? T(1) : static_cast<T>(divisor_at(s, spot.at.h, spot.at.w));
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) y.x[k] = static_cast<S>(sums[k] / divisor);
  }
  store_pack(out + first, y, kCount, true);
}

template <class S, int kCount, class Shape, class T = computed_t<S>>
__global__ void spread_kernel(Images<Shape> s, uint32_t n, S* grad_input, const S* grad_output) {
  const uint32_t first = thread_index() * kCount;
  if (first >= n) return;
  const Spot spot = s.spot(first, s.in_h, s.in_w);
  const Range p = s.h.outputs(spot.at.h), q = s.w.outputs(spot.at.w);
  T sums[kCount] = {};
  for (int32_t i = p.begin; i < p.end; ++i)
    for (int32_t j = q.begin; j < q.end; ++j) {
      const Pack<S, kCount> g = load<kCount>(grad_output + s.element(spot, s.h.out, s.w.out, i, j));
      const T divisor = static_cast<T>(divisor_at(s, i, j)), scale = T(1) / divisor;
      TANDEM_UNROLL
      for (int k = 0; k < kCount; ++k)
        sums[k] = halves(s) ? static_cast<T>(g.x[k]) * scale : sums[k] + static_cast<T>(g.x[k]) / divisor;
    }
  Pack<S, kCount> y;
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) y.x[k] = static_cast<S>(sums[k]);
  store_pack(grad_input + first, y, kCount, true);
}

// ---- maxima

// The first of equal maxima, or the last NaN. indices may be null. kColumns: columns first, which decides between 0 and -0.
template <class S, int kCount, bool kColumns = false, class T = computed_t<S>>
__global__ void max_forward_kernel(Images<PoolShape> s, uint32_t n, S* out, int64_t* indices, const S* input) {
  const uint32_t first = thread_index() * kCount;
  if (first >= n) return;
  const Spot spot = s.spot(first, s.out_h, s.out_w);
  const Range h = s.h.dilated(spot.at.h), w = s.w.dilated(spot.at.w);
  const int32_t start = (h.begin < s.h.in ? h.begin : s.h.in - 1) * s.w.in + (w.begin < s.w.in ? w.begin : s.w.in - 1);
  T best[kCount];
  int32_t place[kCount];
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) {
    best[k] = -INFINITY;
    place[k] = start;
  }
  const auto consider = [&](int32_t i, int32_t j) {
    const Pack<S, kCount> x = load<kCount>(input + s.element(spot, s.h.in, s.w.in, i, j));
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) {
      const T value = static_cast<T>(x.x[k]);
      const bool take = (value > best[k]) | (value != value);
      best[k] = take ? value : best[k];
      place[k] = take ? i * s.w.in + j : place[k];
    }
  };
  if constexpr (kColumns) {
    for (int32_t j = w.begin; j < w.end; j += s.w.dilation)
      for (int32_t i = h.begin; i < h.end; i += s.h.dilation) consider(i, j);
  } else {
    for (int32_t i = h.begin; i < h.end; i += s.h.dilation)
      for (int32_t j = w.begin; j < w.end; j += s.w.dilation) consider(i, j);
  }
  Pack<S, kCount> y;
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) y.x[k] = static_cast<S>(best[k]);
  store_pack(out + first, y, kCount, true);
  if (indices == nullptr) return;
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) indices[first + static_cast<uint32_t>(k)] = place[k];
}

template <class S, int kCount, class T = computed_t<S>>
__global__ void max_backward_kernel(Images<PoolShape> s, uint32_t n, S* grad_input, const S* grad_output,
                                    const int64_t* indices) {
  const uint32_t first = thread_index() * kCount;
  if (first >= n) return;
  const Spot spot = s.spot(first, s.in_h, s.in_w);
  const Range p = s.h.outputs(spot.at.h), q = s.w.outputs(spot.at.w);
  const int32_t own = spot.at.h * s.w.in + spot.at.w;
  T sums[kCount] = {};
  for (int32_t i = p.begin; i < p.end; ++i)
    for (int32_t j = q.begin; j < q.end; ++j) {
      const uint32_t from = s.element(spot, s.h.out, s.w.out, i, j);
      const Pack<S, kCount> g = load<kCount>(grad_output + from);
      TANDEM_UNROLL
      for (int k = 0; k < kCount; ++k)
        sums[k] += indices[from + static_cast<uint32_t>(k)] == own ? static_cast<T>(g.x[k]) : T(0);
    }
  Pack<S, kCount> y;
  TANDEM_UNROLL
  for (int k = 0; k < kCount; ++k) y.x[k] = static_cast<S>(sums[k]);
  store_pack(grad_input + first, y, kCount, true);
}

template <class S>
__global__ void max_gather_kernel(Images<PoolShape> s, uint32_t n, S* out, const S* input, const int64_t* indices) {
  const uint32_t first = thread_index();
  if (first >= n) return;
  const Spot spot = s.spot(first, s.out_h, s.out_w);
  const auto pixel = spot.at.plane * static_cast<uint32_t>(s.in()) + static_cast<uint32_t>(indices[first]);
  out[first] = input[pixel * s.channels.divisor + spot.channel];
}

// ---- host

// Calls f with the number of channels of a thread, as a constant: 16 bytes of S if every pixel starts at 16 bytes.
template <class S, class F>
void with_pack(std::initializer_list<const Tensor*> tensors, F f) {
  constexpr int kWide = Pack<S>::kSize;
  bool wide = true;
  for (const Tensor* t : tensors)
    wide = wide && t->size(1) % kWide == 0 && reinterpret_cast<uintptr_t>(t->data_ptr()) % 16 == 0;
  if (wide)
    f(std::integral_constant<int, kWide>{});
  else
    f(std::integral_constant<int, 1>{});
}

// Planes are images with one channel.
template <class Shape>
Images<Shape> images(const Shape& s, const Tensor& t) {
  return {s, divider(is_image(t) ? t.size(1) : 1)};
}

template <class Shape>
void mean(const char* operation, const Tensor& out, const Tensor& input, const Shape& s) {
  dispatch(out.dtype(), StoredFloats{}, operation, [&]<class S>(Type<S>) {
    if (is_strict())
      return run(operation, input, out, images(s, input), mean_kernel<S, 1, Shape, true>, Share{}, moved<S>(out),
                 moved<const S>(input));
    with_pack<S>({&out, &input}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      run(operation, input, out, images(s, input), mean_kernel<S, kCount, Shape>, Share{1, kCount}, moved<S>(out),
          moved<const S>(input));
    });
  });
}

template <class Shape>
void spread(const char* operation, const Tensor& grad_input, const Tensor& grad_output, const Shape& s) {
  dispatch(grad_input.dtype(), StoredFloats{}, operation, [&]<class S>(Type<S>) {
    with_pack<S>({&grad_input, &grad_output}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      run(operation, grad_input, grad_output, images(s, grad_input), spread_kernel<S, kCount, Shape>, Share{1, kCount},
          moved<S>(grad_input), moved<const S>(grad_output));
    });
  });
}

}  // namespace

void avg_forward_channels(const Tensor& out, const Tensor& input, const Pool2dParameters& p) {
  mean("avg_pool2d", out, input, pool_shape("avg_pool2d", input, out, p));
}
void adaptive_avg_forward_channels(const Tensor& out, const Tensor& input) {
  mean("adaptive_avg_pool2d", out, input, adaptive_shape("adaptive_avg_pool2d", input, out));
}
void spread_channels(const char* operation, const Tensor& grad_input, const Tensor& grad_output, const PoolShape& s) {
  spread(operation, grad_input, grad_output, s);
}
void spread_channels(const char* operation, const Tensor& grad_input, const Tensor& grad_output,
                     const AdaptivePoolShape& s) {
  spread(operation, grad_input, grad_output, s);
}

void max_forward_channels(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p) {
  const PoolShape s = pool_shape("max_pool2d", input, out, p);
  const bool columns = p.stride[1] <= 2 && !p.halves();
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d", [&]<class S>(Type<S>) {
    if (is_strict() && !indices.defined())
      return run("max_pool2d", input, out, images(s, input),
                 columns ? max_forward_kernel<S, 1, true> : max_forward_kernel<S, 1, false>, Share{}, moved<S>(out),
                 moved<int64_t>(indices), moved<const S>(input));
    with_pack<S>({&out, &input}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      run("max_pool2d", input, out, images(s, input), max_forward_kernel<S, kCount>, Share{1, kCount}, moved<S>(out),
          moved<int64_t>(indices), moved<const S>(input));
    });
  });
}

void max_backward_channels(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                           const Pool2dParameters& p) {
  const PoolShape s = pool_shape("max_pool2d_backward", grad_input, grad_output, p);
  dispatch(grad_input.dtype(), StoredFloats{}, "max_pool2d_backward", [&]<class S>(Type<S>) {
    with_pack<S>({&grad_input, &grad_output}, [&]<int kCount>(std::integral_constant<int, kCount>) {
      run("max_pool2d_backward", grad_input, grad_output, images(s, grad_input), max_backward_kernel<S, kCount>,
          Share{1, kCount}, moved<S>(grad_input), moved<const S>(grad_output), moved<const int64_t>(indices));
    });
  });
}

void max_gather_channels(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  const PoolShape s = pool_shape("max_pool2d_gather", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d_gather", [&]<class S>(Type<S>) {
    run("max_pool2d_gather", input, out, images(s, input), max_gather_kernel<S>, Share{1, 1}, moved<S>(out),
        moved<const S>(input), moved<const int64_t>(indices));
  });
}

}  // namespace tandem::cuda_impl
