// 2-d pooling with custom kernels: cuDNN's maximum pooling does not return the indices that the table
// records, and cuDNN supports neither dilation nor adaptive windows. Each result has one thread, in forward and
// backward (pool2d_windows.h), so no atomics are needed; rules and order of additions match the CPU.
#include <algorithm>
#include <bit>

#include "tandem/core/backend/pool.h"

#include "tandem/cuda/ops/pool2d_channels.h"
#include "tandem/cuda/ops/pool2d_loop.h"
#include "tandem/cuda/pack.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/strict/strict.h"
#include "tandem/cuda/tables.h"
#include "tandem/cuda/warp.h"

namespace tandem::cuda_impl {
namespace {

template <class S, class T = computed_t<S>>
__global__ void avg_forward_kernel(PoolShape s, uint32_t n, S* out, const S* input) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.out_h, s.out_w);
  const S* x = input + at.plane * static_cast<uint32_t>(s.in());
  if (s.halves) {  // 2 x 2: adds in pairs, like the CPU
    const S *top = x + 2 * at.h * s.w.in + 2 * at.w, *bottom = top + s.w.in;
    const T sum = (T(top[0]) + T(top[1])) + (T(bottom[0]) + T(bottom[1]));
    out[index] = static_cast<S>(sum * (T(1) / static_cast<T>(s.divisor)));
    return;
  }
  int32_t padded_h = 0, padded_w = 0;
  const Range h = s.h.window(at.h, padded_h), w = s.w.window(at.w, padded_w);
  T sum = 0;
  for (int32_t i = h.begin; i < h.end; ++i)
    for (int32_t j = w.begin; j < w.end; ++j) sum += static_cast<T>(x[i * s.w.in + j]);
  const bool empty = h.begin >= h.end || w.begin >= w.end;
  out[index] = static_cast<S>(empty ? T(0) : sum / static_cast<T>(divisor_at(s, at.h, at.w)));
}

template <class S, class T = computed_t<S>>
__global__ void avg_backward_kernel(PoolShape s, uint32_t n, S* grad_input, const S* grad_output) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.in_h, s.in_w);
  const S* dy = grad_output + at.plane * static_cast<uint32_t>(s.out());
  const Range p = s.h.outputs(at.h), q = s.w.outputs(at.w);
  T sum = 0;
  for (int32_t i = p.begin; i < p.end; ++i)
    for (int32_t j = q.begin; j < q.end; ++j)
      sum += static_cast<T>(dy[i * s.w.out + j]) / static_cast<T>(divisor_at(s, i, j));
  grad_input[index] = static_cast<S>(sum);
}

// Windows that do not overlap and have one divisor: each input has at most one. A thread has adjacent inputs, of any
// rows.
template <class S, class T = computed_t<S>>
__global__ void avg_spread_kernel(PoolShape s, uint32_t n, S* grad_input, const S* grad_output) {
  constexpr uint32_t kCount = Pack<S>::kSize, kNone = ~0u;
  const uint32_t first = thread_index() * kCount, count = n - first < kCount ? n - first : kCount;
  if (first >= n) return;
  Place at = place_of(first, s.in_h, s.in_w);
  int32_t p = s.h.output(at.h);
  uint32_t from[kCount];
  TANDEM_UNROLL
  for (uint32_t k = 0; k < kCount; ++k) {
    const int32_t q = s.w.output(at.w);
    from[k] = p >= 0 && q >= 0 ? at.plane * static_cast<uint32_t>(s.out()) + p * s.w.out + q : kNone;
    if (k >= count) from[k] = kNone;
    if (++at.w < s.w.in) continue;
    at.w = 0;
    if (++at.h == s.h.in) at = {at.plane + 1, 0, 0};
    p = s.h.output(at.h);
  }
  Pack<S> g;
  TANDEM_UNROLL
  for (uint32_t k = 0; k < kCount; ++k) g.x[k] = from[k] != kNone ? grad_output[from[k]] : S(0);
  const T divisor = static_cast<T>(s.divisor), scale = T(1) / divisor;
  // A division by a power of 2 is the same as a multiplication.
  const bool multiplies = s.halves || (s.divisor > 0 && (s.divisor & (s.divisor - 1)) == 0);
  TANDEM_UNROLL
  for (uint32_t k = 0; k < kCount; ++k) {
    T value = multiplies ? static_cast<T>(g.x[k]) * scale : static_cast<T>(g.x[k]) / divisor;
    if (!s.halves || from[k] == kNone) value += T(0);  // turns -0 into 0, like the CPU's sum
    g.x[k] = static_cast<S>(value);
  }
  const bool whole = count == kCount && reinterpret_cast<uintptr_t>(grad_input) % sizeof(g) == 0;
  store_pack(grad_input + first, g, static_cast<int>(count), whole);
}

// The first of equal maxima, or the last NaN. indices may be null. kSide != 0: windows of this height and width
// without dilation, which are loaded before the first comparison.
template <class S, int kSide, class T = computed_t<S>>
__global__ void max_forward_kernel(PoolShape s, uint32_t n, S* out, int64_t* indices, const S* input) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.out_h, s.out_w);
  const S* x = input + at.plane * static_cast<uint32_t>(s.in());
  const Range h = s.h.dilated(at.h), w = s.w.dilated(at.w);
  int32_t place = (h.begin < s.h.in ? h.begin : s.h.in - 1) * s.w.in + (w.begin < s.w.in ? w.begin : s.w.in - 1);
  T best = -INFINITY;
  const auto consider = [&](T value, int32_t from) {
    const bool take = (value > best) | (value != value);
    best = take ? value : best;
    place = take ? from : place;
  };
  if constexpr (kSide != 0) {
    const int32_t top = at.h * s.h.stride - s.h.pad, left = at.w * s.w.stride - s.w.pad;
    T values[kSide * kSide];
    TANDEM_UNROLL
    for (int32_t k = 0; k < kSide * kSide; ++k) {
      const int32_t i = top + k / kSide, j = left + k % kSide;
      const bool inside = (i >= h.begin) & (i < h.end) & (j >= w.begin) & (j < w.end);
      values[k] = inside ? static_cast<T>(x[i * s.w.in + j]) : T(-INFINITY);  // never taken
    }
    TANDEM_UNROLL
    for (int32_t k = 0; k < kSide * kSide; ++k) consider(values[k], (top + k / kSide) * s.w.in + left + k % kSide);
  } else {
    for (int32_t i = h.begin; i < h.end; i += s.h.dilation)
      for (int32_t j = w.begin; j < w.end; j += s.w.dilation)
        consider(static_cast<T>(x[i * s.w.in + j]), i * s.w.in + j);
  }
  out[index] = static_cast<S>(best);
  if (indices != nullptr) indices[index] = place;
}

// Adds the gradients of windows side by side to those of the kCount inputs from `own` that they selected.
template <class S, int kCount, class T>
__device__ void add_selected(T (&sums)[kCount], const S* grad_output, const int64_t* indices, int32_t windows,
                             int32_t own) {
  constexpr int32_t kAtOnce = 3;  // windows of width 3 at stride 2 with one of 4 inputs
  for (int32_t j = 0; j < windows; j += kAtOnce) {
    int32_t to[kAtOnce];
    S g[kAtOnce];
    TANDEM_UNROLL
    for (int32_t d = 0; d < kAtOnce; ++d) {
      const bool inside = j + d < windows;
      to[d] = inside ? static_cast<int32_t>(indices[j + d]) - own : -1;
      g[d] = inside ? grad_output[j + d] : S(0);
    }
    TANDEM_UNROLL
    for (int32_t d = 0; d < kAtOnce; ++d) {
      TANDEM_UNROLL
      for (int k = 0; k < kCount; ++k)
        // Adding 0 changes no sum. With a condition nvcc knows that k is to[d], and has the sums in local memory.
        sums[k] += to[d] == k ? static_cast<T>(g[d]) : T(0);
    }
  }
}

// Sums the gradients of the outputs that selected each of kCount adjacent inputs, in a few rows.
template <class S, int kCount, class T = computed_t<S>>
__global__ void max_backward_kernel(PoolShape s, uint32_t n, S* grad_input, const S* grad_output,
                                    const int64_t* indices) {
  const Place at = place_of(thread_index() * kCount, s.in_rows, s.in_w);
  const uint32_t start = at.plane * static_cast<uint32_t>(s.in());
  if (start >= n) return;
  const bool aligned = reinterpret_cast<uintptr_t>(grad_input) % sizeof(Pack<S, kCount>) == 0;
  const Range q{s.w.outputs(at.w).begin, s.w.outputs(at.w + kCount - 1).end};
  for (int32_t h = at.h * kMaxRows; h < s.h.in && h < (at.h + 1) * kMaxRows; ++h) {
    const int32_t own = h * s.w.in + at.w;
    const Range p = s.h.outputs(h);
    T sums[kCount] = {};
    for (int32_t i = p.begin; i < p.end; ++i) {
      const uint32_t from = at.plane * static_cast<uint32_t>(s.out()) + static_cast<uint32_t>(i * s.w.out + q.begin);
      add_selected(sums, grad_output + from, indices + from, q.end - q.begin, own);
    }
    Pack<S, kCount> pack;
    TANDEM_UNROLL
    for (int k = 0; k < kCount; ++k) pack.x[k] = static_cast<S>(sums[k]);
    store_pack(grad_input + start + own, pack, kCount, aligned);
  }
}

template <class S>
__global__ void max_gather_kernel(PoolShape s, uint32_t n, S* out, const S* input, const int64_t* indices) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const uint32_t plane = s.out_w.quotient(s.out_h.quotient(index));
  out[index] = input[plane * static_cast<uint32_t>(s.in()) + static_cast<uint32_t>(indices[index])];
}

template <class S, class T = computed_t<S>>
__global__ void adaptive_forward_kernel(AdaptivePoolShape s, uint32_t n, S* out, const S* input) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.out_h, s.out_w);
  const S* x = input + at.plane * static_cast<uint32_t>(s.h.in * s.w.in);
  const Range h = s.h.window(at.h), w = s.w.window(at.w);
  T sum = 0;
  for (int32_t i = h.begin; i < h.end; ++i)
    for (int32_t j = w.begin; j < w.end; ++j) sum += static_cast<T>(x[i * s.w.in + j]);
  out[index] = static_cast<S>(sum / static_cast<T>((h.end - h.begin) * (w.end - w.begin)));
}

// Large windows: `lanes` adjacent threads have one, and each takes every lanes-th element.
template <class S, class T = computed_t<S>>
__global__ void adaptive_forward_lanes_kernel(AdaptivePoolShape s, uint32_t n, S* out, const S* input) {
  const uint32_t index = thread_index() / static_cast<uint32_t>(s.lanes);
  const auto lane = static_cast<int32_t>(threadIdx.x) % s.lanes;
  T sum = 0;
  int32_t count = 1;
  if (index < n) {
    const Place at = place_of(index, s.out_h, s.out_w);
    const S* x = input + at.plane * static_cast<uint32_t>(s.h.in * s.w.in);
    const Range h = s.h.window(at.h), w = s.w.window(at.w);
    const int32_t columns = w.end - w.begin;
    count = (h.end - h.begin) * columns;
    for (int32_t k = lane; k < count; k += s.lanes) {
      const int32_t row = k / columns;
      sum += static_cast<T>(x[(h.begin + row) * s.w.in + w.begin + k - row * columns]);
    }
  }
  sum = fold_warp(sum, Plus(), s.lanes);
  if (index < n && lane == 0) out[index] = static_cast<S>(sum / static_cast<T>(count));
}

template <class S, class T = computed_t<S>>
__global__ void adaptive_backward_kernel(AdaptivePoolShape s, uint32_t n, S* grad_input, const S* grad_output) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.in_h, s.in_w);
  const S* dy = grad_output + at.plane * static_cast<uint32_t>(s.h.out * s.w.out);
  const Range p = s.h.outputs(at.h), q = s.w.outputs(at.w);
  T sum = 0;
  for (int32_t i = p.begin; i < p.end; ++i) {
    const Range h = s.h.window(i);
    for (int32_t j = q.begin; j < q.end; ++j) {
      const Range w = s.w.window(j);
      sum += static_cast<T>(dy[i * s.w.out + j]) / static_cast<T>((h.end - h.begin) * (w.end - w.begin));
    }
  }
  grad_input[index] = static_cast<S>(sum);
}

void avg_forward(const Tensor& out, const Tensor& input, const Pool2dParameters& p) {
  if (is_image(out) || is_strict()) return avg_forward_channels(out, input, p);
  const PoolShape s = pool_shape("avg_pool2d", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "avg_pool2d", [&]<class T>(Type<T>) {
    run("avg_pool2d", input, out, s, avg_forward_kernel<T>, Share{}, moved<T>(out), moved<const T>(input));
  });
}

void spread_averages(const char* operation, const Tensor& grad_input, const Tensor& grad_output, const PoolShape& s) {
  if (is_image(grad_input)) return spread_channels(operation, grad_input, grad_output, s);
  const bool apart = s.h.stride >= s.h.kernel && s.w.stride >= s.w.kernel && s.divisor != 0;
  dispatch(grad_input.dtype(), StoredFloats{}, operation, [&]<class T>(Type<T>) {
    run(operation, grad_input, grad_output, s, apart ? avg_spread_kernel<T> : avg_backward_kernel<T>,
        Share{1, apart ? Pack<T>::kSize : 1}, moved<T>(grad_input), moved<const T>(grad_output));
  });
}

void avg_backward(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters& p) {
  spread_averages("avg_pool2d_backward", grad_input, grad_output,
                  pool_shape("avg_pool2d_backward", grad_input, grad_output, p));
}

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p) {
  if (is_image(out) || (is_strict() && !indices.defined())) return max_forward_channels(out, indices, input, p);
  const PoolShape s = pool_shape("max_pool2d", input, out, p);
  const auto is_side = [&](int side) {
    return p.kernel == std::array<int64_t, 2>{side, side} && p.dilation == std::array<int64_t, 2>{1, 1};
  };
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d", [&]<class T>(Type<T>) {
    first_of<2, 3, 0>(is_side, [&]<int kSide>(std::integral_constant<int, kSide>) {
      run("max_pool2d", input, out, s, max_forward_kernel<T, kSide>, Share{}, moved<T>(out), moved<int64_t>(indices),
          moved<const T>(input));
    });
  });
}

void max_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                  const Pool2dParameters& p) {
  if (is_image(grad_input)) return max_backward_channels(grad_input, grad_output, indices, p);
  const PoolShape s = pool_shape("max_pool2d_backward", grad_input, grad_output, p);
  const auto divides_row = [&](int count) { return s.w.in % count == 0; };
  dispatch(grad_input.dtype(), StoredFloats{}, "max_pool2d_backward", [&]<class T>(Type<T>) {
    first_of<4, 2, 1>(divides_row, [&]<int kCount>(std::integral_constant<int, kCount>) {
      const Share share{static_cast<int>(s.in_rows.divisor) * (s.w.in / kCount), s.in()};
      run("max_pool2d_backward", grad_input, grad_output, s, max_backward_kernel<T, kCount>, share,
          moved<T>(grad_input), moved<const T>(grad_output), moved<const int64_t>(indices));
    });
  });
}

void max_gather(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  if (is_image(out)) return max_gather_channels(out, input, indices, p);
  const PoolShape s = pool_shape("max_pool2d_gather", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d_gather", [&]<class T>(Type<T>) {
    run("max_pool2d_gather", input, out, s, max_gather_kernel<T>, Share{}, moved<T>(out), moved<const T>(input),
        moved<const int64_t>(indices));
  });
}

void adaptive_avg_forward(const Tensor& out, const Tensor& input) {
  if (is_image(out) || is_strict()) return adaptive_avg_forward_channels(out, input);
  AdaptivePoolShape s = adaptive_shape("adaptive_avg_pool2d", input, out);
  const int64_t window = plane_of(input) / std::max<int64_t>(1, plane_of(out));
  if (window >= 32 && out.numel() < (int64_t{1} << 26))
    s.lanes = static_cast<int>(std::bit_floor(static_cast<uint64_t>(std::min<int64_t>(32, window / 4))));
  dispatch(out.dtype(), StoredFloats{}, "adaptive_avg_pool2d", [&]<class T>(Type<T>) {
    run("adaptive_avg_pool2d", input, out, s,
        s.lanes > 1 ? adaptive_forward_lanes_kernel<T> : adaptive_forward_kernel<T>, Share{s.lanes}, moved<T>(out),
        moved<const T>(input));
  });
}

void adaptive_avg_backward(const Tensor& grad_input, const Tensor& grad_output) {
  constexpr const char* kName = "adaptive_avg_pool2d_backward";
  const auto window = [&](int64_t d) {  // 0: windows differ
    const int64_t in = grad_input.size(d - 3), out = std::max<int64_t>(1, grad_output.size(d - 3));
    return in % out == 0 && in < kMaxSize / 4 ? in / out : 0;
  };
  if (window(1) > 0 && window(2) > 0) {
    PoolShape s = pool_shape(kName, grad_input, grad_output,
                             {.kernel = {window(1), window(2)}, .stride = {window(1), window(2)}});
    s.halves = false;  // only for the sign of 0
    return spread_averages(kName, grad_input, grad_output, s);
  }
  const AdaptivePoolShape s = adaptive_shape(kName, grad_input, grad_output);
  if (is_image(grad_input)) return spread_channels(kName, grad_input, grad_output, s);
  dispatch(grad_input.dtype(), StoredFloats{}, kName, [&]<class T>(Type<T>) {
    run(kName, grad_input, grad_output, s, adaptive_backward_kernel<T>, Share{}, moved<T>(grad_input),
        moved<const T>(grad_output));
  });
}

}  // namespace

constinit const PoolKernels pool_kernels{.avg_forward = {avg_forward, kTakesHalf},
                                         .avg_backward = {avg_backward, kTakesHalf},
                                         .max_forward = {max_forward, kTakesHalf},
                                         .max_backward = {max_backward, kTakesHalf},
                                         .max_gather = {max_gather, kTakesHalf},
                                         .adaptive_avg_forward = {adaptive_avg_forward, kTakesHalf},
                                         .adaptive_avg_backward = {adaptive_avg_backward, kTakesHalf}};

}  // namespace tandem::cuda_impl
