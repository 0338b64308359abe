// 2-d pooling with custom kernels: cuDNN's maximum pooling does not return the indices that the table
// records, and cuDNN supports neither dilation nor adaptive windows. One thread per result, in forward and
// backward (pool2d_windows.h), so no atomics are needed; rules and order of additions match the CPU.
#include <algorithm>

#include "tandem/core/backend/pool.h"

#include "tandem/cuda/device.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/pool2d_windows.h"
#include "tandem/cuda/stored.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

struct Shape {
  PoolAxis h, w;
  FastDivide in_h, in_w, out_h, out_w;
  bool count_include_pad = true, halves = false;
  int32_t divisor = 0;

  TANDEM_HD int32_t in() const { return h.in * w.in; }
  TANDEM_HD int32_t out() const { return h.out * w.out; }
};

struct Place {
  uint32_t plane;
  int32_t h, w;
};
__device__ inline Place place_of(uint32_t index, const FastDivide& height, const FastDivide& width) {
  const uint32_t row = width.quotient(index), plane = height.quotient(row);
  return {plane, static_cast<int32_t>(row - plane * height.divisor), static_cast<int32_t>(index - row * width.divisor)};
}
__device__ inline uint32_t thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// The divisor of the window (h, w), or 0 for an empty window.
__device__ inline int32_t divisor_of(const Shape& s, const Range& h, const Range& w, int32_t padded) {
  if (h.begin >= h.end || w.begin >= w.end) return 0;
  if (s.divisor != 0) return s.divisor;
  return s.count_include_pad ? padded : (h.end - h.begin) * (w.end - w.begin);
}

template <class S, class T = computed_t<S>>
__global__ void avg_forward_kernel(Shape s, uint32_t n, S* out, const S* input) {
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
  const int32_t divisor = divisor_of(s, h, w, padded_h * padded_w);
  out[index] = static_cast<S>(divisor == 0 ? T(0) : sum / static_cast<T>(divisor));
}

template <class S, class T = computed_t<S>>
__global__ void avg_backward_kernel(Shape s, uint32_t n, S* grad_input, const S* grad_output) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.in_h, s.in_w);
  const S* dy = grad_output + at.plane * static_cast<uint32_t>(s.out());
  const Range p = s.h.outputs(at.h), q = s.w.outputs(at.w);
  T sum = 0;
  for (int32_t i = p.begin; i < p.end; ++i) {
    int32_t padded_h = 0, padded_w = 0;
    const Range h = s.h.window(i, padded_h);
    for (int32_t j = q.begin; j < q.end; ++j) {
      const Range w = s.w.window(j, padded_w);
      const T g = static_cast<T>(dy[i * s.w.out + j]);
      const int32_t divisor = divisor_of(s, h, w, padded_h * padded_w);
      sum += s.halves ? g * (T(1) / static_cast<T>(s.divisor)) : g / static_cast<T>(divisor);
    }
  }
  grad_input[index] = static_cast<S>(sum);
}

// The first of equal maxima, or the last NaN. indices may be null.
template <class S, class T = computed_t<S>>
__global__ void max_forward_kernel(Shape s, uint32_t n, S* out, int64_t* indices, const S* input) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.out_h, s.out_w);
  const S* x = input + at.plane * static_cast<uint32_t>(s.in());
  const Range h = s.h.dilated(at.h), w = s.w.dilated(at.w);
  int32_t place = (h.begin < s.h.in ? h.begin : s.h.in - 1) * s.w.in + (w.begin < s.w.in ? w.begin : s.w.in - 1);
  T best = -INFINITY;
  for (int32_t i = h.begin; i < h.end; i += s.h.dilation)
    for (int32_t j = w.begin; j < w.end; j += s.w.dilation) {
      const T value = static_cast<T>(x[i * s.w.in + j]);
      const bool take = (value > best) | (value != value);
      best = take ? value : best;
      place = take ? i * s.w.in + j : place;
    }
  out[index] = static_cast<S>(best);
  if (indices != nullptr) indices[index] = place;
}

// Sums the gradients of the outputs that selected this input.
template <class S, class T = computed_t<S>>
__global__ void max_backward_kernel(Shape s, uint32_t n, S* grad_input, const S* grad_output, const int64_t* indices) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const Place at = place_of(index, s.in_h, s.in_w);
  const uint32_t start = at.plane * static_cast<uint32_t>(s.out());
  const int64_t own = at.h * s.w.in + at.w;
  const Range p = s.h.outputs(at.h), q = s.w.outputs(at.w);
  T sum = 0;
  for (int32_t i = p.begin; i < p.end; ++i)
    for (int32_t j = q.begin; j < q.end; ++j) {
      const uint32_t from = start + static_cast<uint32_t>(i * s.w.out + j);
      if (indices[from] == own) sum += static_cast<T>(grad_output[from]);
    }
  grad_input[index] = static_cast<S>(sum);
}

template <class S>
__global__ void max_gather_kernel(Shape s, uint32_t n, S* out, const S* input, const int64_t* indices) {
  const uint32_t index = thread_index();
  if (index >= n) return;
  const uint32_t plane = s.out_w.quotient(s.out_h.quotient(index));
  out[index] = input[plane * static_cast<uint32_t>(s.in()) + static_cast<uint32_t>(indices[index])];
}

struct AdaptiveShape {
  AdaptiveAxis h, w;
  FastDivide in_h, in_w, out_h, out_w;
};

template <class S, class T = computed_t<S>>
__global__ void adaptive_forward_kernel(AdaptiveShape s, uint32_t n, S* out, const S* input) {
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

// Large windows: one warp per window; each lane takes every 32nd element.
template <class S, class T = computed_t<S>>
__global__ void adaptive_forward_warp_kernel(AdaptiveShape s, uint32_t n, S* out, const S* input) {
  const uint32_t index = thread_index() / 32;
  const auto lane = static_cast<int32_t>(threadIdx.x % 32);
  T sum = 0;
  int32_t count = 1;
  if (index < n) {
    const Place at = place_of(index, s.out_h, s.out_w);
    const S* x = input + at.plane * static_cast<uint32_t>(s.h.in * s.w.in);
    const Range h = s.h.window(at.h), w = s.w.window(at.w);
    const int32_t columns = w.end - w.begin;
    count = (h.end - h.begin) * columns;
    for (int32_t k = lane; k < count; k += 32) {
      const int32_t row = k / columns;
      sum += static_cast<T>(x[(h.begin + row) * s.w.in + w.begin + k - row * columns]);
    }
  }
  for (int step = 16; step > 0; step /= 2) sum += __shfl_xor_sync(0xffffffffu, sum, step);
  if (index < n && lane == 0) out[index] = static_cast<S>(sum / static_cast<T>(count));
}

template <class S, class T = computed_t<S>>
__global__ void adaptive_backward_kernel(AdaptiveShape s, uint32_t n, S* grad_input, const S* grad_output) {
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

// Larger sizes are not supported; the limit leaves headroom for the sum of two sizes.
constexpr int64_t kMaxSize = int64_t{1} << 30;

int32_t checked(const char* operation, int64_t value, const Tensor& input) {
  check(value < kMaxSize, operation, ": planes and windows on CUDA must have less than ", kMaxSize,
        " elements\n  input  ", input);
  return static_cast<int32_t>(value);
}

FastDivide divider(int64_t by) { return FastDivide(static_cast<uint32_t>(std::max<int64_t>(1, by))); }

Shape shape_of(const char* operation, const Tensor& input, const Tensor& output, const Pool2dParameters& p) {
  checked(operation, input.size(1) * input.size(2), input);
  checked(operation, output.size(1) * output.size(2), input);
  const auto axis = [&](int64_t d) {
    const auto number = [&](int64_t value) { return checked(operation, value, input); };
    const int64_t in = input.size(d + 1), out = output.size(d + 1);
    // With a single output the stride has no effect.
    const int64_t stride = out == 1 ? std::min(p.stride[d], kMaxSize / 4) : p.stride[d];
    number(p.kernel[d] * p.dilation[d] + in + 2 * p.padding[d] + stride);
    number(out * stride);
    return PoolAxis{.in = number(in),
                    .out = number(out),
                    .kernel = number(p.kernel[d]),
                    .stride = number(stride),
                    .pad = number(p.padding[d]),
                    .dilation = number(p.dilation[d])};
  };
  Shape s{axis(0),
          axis(1),
          divider(input.size(1)),
          divider(input.size(2)),
          divider(output.size(1)),
          divider(output.size(2)),
          p.count_include_pad,
          p.halves(),
          static_cast<int32_t>(std::clamp<int64_t>(p.divisor_override, INT32_MIN, INT32_MAX))};
  if (s.halves && s.divisor == 0) s.divisor = 4;
  return s;
}

// Calls f(first plane, planes) for parts that 32 bits can address.
template <class F>
void for_planes(const Tensor& input, const Tensor& output, F f) {
  const int64_t planes = input.size(0);
  const int64_t plane = std::max({int64_t{1}, input.size(1) * input.size(2), output.size(1) * output.size(2)});
  const int64_t step = std::max<int64_t>(1, ((int64_t{1} << 31) - 512) / plane);
  for (int64_t first = 0; first < planes; first += step) f(first, std::min(step, planes - first));
}

// Launches kernel(shape, n, result, rest...) with one thread per result; every pointer is moved to its first
// plane.
template <class T>
struct Moved {
  T* data;
  int64_t plane;
  T* at(int64_t first) const { return data == nullptr ? nullptr : data + first * plane; }
};
template <class T>
Moved<T> moved(const Tensor& t) {
  return t.defined() ? Moved<T>{t.ptr<T>(), t.size(1) * t.size(2)} : Moved<T>{nullptr, 0};
}

template <class S, class Kernel, class Result, class... Rest>
void run(const char* operation, const Tensor& input, const Tensor& output, const S& shape, Kernel kernel,
         int threads_each, Moved<Result> result, Moved<Rest>... rest) {
  if (result.plane == 0) return;
  Context& c = context(input.device());
  for_planes(input, output, [&](int64_t first, int64_t planes) {
    const int64_t n = planes * result.plane;
    launch(operation, c, grid_for(n * threads_each), kernel, shape, static_cast<uint32_t>(n), result.at(first),
           rest.at(first)...);
  });
}

void avg_forward(const Tensor& out, const Tensor& input, const Pool2dParameters& p) {
  const Shape s = shape_of("avg_pool2d", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "avg_pool2d", [&]<class T>(Type<T>) {
    run("avg_pool2d", input, out, s, avg_forward_kernel<T>, 1, moved<T>(out), moved<const T>(input));
  });
}

void avg_backward(const Tensor& grad_input, const Tensor& grad_output, const Pool2dParameters& p) {
  const Shape s = shape_of("avg_pool2d_backward", grad_input, grad_output, p);
  dispatch(grad_input.dtype(), StoredFloats{}, "avg_pool2d_backward", [&]<class T>(Type<T>) {
    run("avg_pool2d_backward", grad_input, grad_output, s, avg_backward_kernel<T>, 1, moved<T>(grad_input),
        moved<const T>(grad_output));
  });
}

void max_forward(const Tensor& out, const Tensor& indices, const Tensor& input, const Pool2dParameters& p) {
  const Shape s = shape_of("max_pool2d", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d", [&]<class T>(Type<T>) {
    run("max_pool2d", input, out, s, max_forward_kernel<T>, 1, moved<T>(out), moved<int64_t>(indices),
        moved<const T>(input));
  });
}

void max_backward(const Tensor& grad_input, const Tensor& grad_output, const Tensor& indices,
                  const Pool2dParameters& p) {
  const Shape s = shape_of("max_pool2d_backward", grad_input, grad_output, p);
  dispatch(grad_input.dtype(), StoredFloats{}, "max_pool2d_backward", [&]<class T>(Type<T>) {
    run("max_pool2d_backward", grad_input, grad_output, s, max_backward_kernel<T>, 1, moved<T>(grad_input),
        moved<const T>(grad_output), moved<const int64_t>(indices));
  });
}

void max_gather(const Tensor& out, const Tensor& input, const Tensor& indices, const Pool2dParameters& p) {
  const Shape s = shape_of("max_pool2d_gather", input, out, p);
  dispatch(out.dtype(), StoredFloats{}, "max_pool2d_gather", [&]<class T>(Type<T>) {
    run("max_pool2d_gather", input, out, s, max_gather_kernel<T>, 1, moved<T>(out), moved<const T>(input),
        moved<const int64_t>(indices));
  });
}

AdaptiveShape adaptive_shape(const char* operation, const Tensor& input, const Tensor& output) {
  checked(operation, input.size(1) * input.size(2), input);
  checked(operation, output.size(1) * output.size(2), input);
  const auto axis = [&](int64_t d) {
    return AdaptiveAxis{static_cast<int32_t>(input.size(d)), static_cast<int32_t>(output.size(d))};
  };
  return {axis(1),
          axis(2),
          divider(input.size(1)),
          divider(input.size(2)),
          divider(output.size(1)),
          divider(output.size(2))};
}

void adaptive_avg_forward(const Tensor& out, const Tensor& input) {
  const AdaptiveShape s = adaptive_shape("adaptive_avg_pool2d", input, out);
  const bool large = input.size(1) * input.size(2) >= 64 * std::max<int64_t>(1, out.size(1) * out.size(2)) &&
                     out.numel() < (int64_t{1} << 26);
  dispatch(out.dtype(), StoredFloats{}, "adaptive_avg_pool2d", [&]<class T>(Type<T>) {
    if (large)
      run("adaptive_avg_pool2d", input, out, s, adaptive_forward_warp_kernel<T>, 32, moved<T>(out),
          moved<const T>(input));
    else
      run("adaptive_avg_pool2d", input, out, s, adaptive_forward_kernel<T>, 1, moved<T>(out), moved<const T>(input));
  });
}

void adaptive_avg_backward(const Tensor& grad_input, const Tensor& grad_output) {
  const AdaptiveShape s = adaptive_shape("adaptive_avg_pool2d_backward", grad_input, grad_output);
  dispatch(grad_input.dtype(), StoredFloats{}, "adaptive_avg_pool2d_backward", [&]<class T>(Type<T>) {
    run("adaptive_avg_pool2d_backward", grad_input, grad_output, s, adaptive_backward_kernel<T>, 1,
        moved<T>(grad_input), moved<const T>(grad_output));
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
