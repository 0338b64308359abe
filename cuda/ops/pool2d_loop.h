// Shared by the pooling kernels: the place of a result, the geometry of a call, and the loop over planes, or over
// images that are channels-last, that launches them.
#pragma once
#include <algorithm>

#include "tandem/core/backend/sliding_windows.h"
#include "tandem/core/tensor.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"
#include "tandem/cuda/ops/pool2d_windows.h"

namespace tandem::cuda_impl {

struct Place {
  uint32_t plane;
  int32_t h, w;
};
__device__ inline Place place_of(uint32_t index, const FastDivide& height, const FastDivide& width) {
  const uint32_t row = width.quotient(index), plane = height.quotient(row);
  return {plane, static_cast<int32_t>(row - plane * height.divisor), static_cast<int32_t>(index - row * width.divisor)};
}
__device__ inline uint32_t thread_index() { return blockIdx.x * blockDim.x + threadIdx.x; }

// Larger sizes are not supported; the limit leaves headroom for the sum of two sizes.
inline constexpr int64_t kMaxSize = int64_t{1} << 30;

inline int32_t checked(const char* operation, int64_t value, const Tensor& input) {
  check(value < kMaxSize, operation, ": planes and windows on CUDA must have less than ", kMaxSize,
        " elements\n  input  ", input);
  return static_cast<int32_t>(value);
}

inline FastDivide divider(int64_t by) { return FastDivide(static_cast<uint32_t>(std::max<int64_t>(1, by))); }

inline constexpr int32_t kMaxRows = 4;  // of a thread, in the gradient of a maximum

struct PoolShape {
  PoolAxis h, w;
  FastDivide in_h, in_w, out_h, out_w, in_rows;  // in_rows: groups of kMaxRows
  bool count_include_pad, halves;
  int32_t divisor;  // of all windows; 0: each has its own

  TANDEM_HD int32_t in() const { return h.in * w.in; }
  TANDEM_HD int32_t out() const { return h.out * w.out; }
};

// The divisor of window (p, q), which is not empty.
__device__ inline int32_t divisor_at(const PoolShape& s, int32_t p, int32_t q) {
  if (s.divisor != 0) return s.divisor;
  int32_t padded_h = 0, padded_w = 0;
  const Range h = s.h.window(p, padded_h), w = s.w.window(q, padded_w);
  return s.count_include_pad ? padded_h * padded_w : (h.end - h.begin) * (w.end - w.begin);
}

inline PoolShape pool_shape(const char* operation, const Tensor& input, const Tensor& output,
                            const Pool2dParameters& p) {
  checked(operation, input.size(-2) * input.size(-1), input);
  checked(operation, output.size(-2) * output.size(-1), input);
  const auto axis = [&](int64_t d) {
    const auto number = [&](int64_t value) { return checked(operation, value, input); };
    const int64_t in = input.size(d - 2), out = output.size(d - 2);
    // With a single output the stride has no effect.
    const int64_t stride = out == 1 ? std::min(p.stride[d], kMaxSize / 4) : p.stride[d];
    number(p.kernel[d] * p.dilation[d] + in + 2 * p.padding[d] + stride);
    number(out * stride);
    return PoolAxis(number(in), number(out), number(p.kernel[d]), number(stride), number(p.padding[d]),
                    number(p.dilation[d]));
  };
  PoolShape s{axis(0),
              axis(1),
              divider(input.size(-2)),
              divider(input.size(-1)),
              divider(output.size(-2)),
              divider(output.size(-1)),
              divider(ceil_div(input.size(-2), kMaxRows)),
              p.count_include_pad,
              p.halves(),
              static_cast<int32_t>(std::clamp<int64_t>(p.divisor_override, INT32_MIN, INT32_MAX))};
  const bool equal = s.h.full() && s.w.full() && (p.count_include_pad || p.padding == std::array<int64_t, 2>{0, 0});
  const int64_t elements = p.kernel[0] * p.kernel[1];
  if (s.divisor == 0 && equal && elements <= INT32_MAX) s.divisor = static_cast<int32_t>(elements);
  return s;
}

struct AdaptivePoolShape {
  AdaptiveAxis h, w;
  FastDivide in_h, in_w, out_h, out_w;
  int lanes = 1;
};
inline AdaptivePoolShape adaptive_shape(const char* operation, const Tensor& input, const Tensor& output) {
  checked(operation, input.size(-2) * input.size(-1), input);
  checked(operation, output.size(-2) * output.size(-1), input);
  return {{input.size(-2), output.size(-2)}, {input.size(-1), output.size(-1)}, divider(input.size(-2)),
          divider(input.size(-1)),           divider(output.size(-2)),          divider(output.size(-1))};
}

// The elements of one plane, or image.
inline int64_t plane_of(const Tensor& t) { return t.numel() / std::max<int64_t>(1, t.size(0)); }

// Calls f(first plane, planes) for parts that 31 bits can address, with the threads of the last block that have none.
template <class F>
void for_planes(const Tensor& input, const Tensor& output, F f) {
  const int64_t planes = input.size(0);
  const int64_t plane = std::max({int64_t{1}, plane_of(input), plane_of(output)});
  const int64_t step = std::max<int64_t>(1, ((int64_t{1} << 31) - 4096) / plane);
  for (int64_t first = 0; first < planes; first += step) f(first, std::min(step, planes - first));
}

// How results are shared out: so many threads have so many.
struct Share {
  int threads = 1, results = 1;
};

// Launches kernel(shape, n, result, rest...) for n results; every pointer is moved to its first plane.
template <class T>
struct Moved {
  T* data;
  int64_t plane;
  T* at(int64_t first) const { return data == nullptr ? nullptr : data + first * plane; }
};
template <class T>
Moved<T> moved(const Tensor& t) {
  return t.defined() ? Moved<T>{t.ptr<T>(), plane_of(t)} : Moved<T>{nullptr, 0};
}

template <class S, class Kernel, class Result, class... Rest>
void run(const char* operation, const Tensor& input, const Tensor& output, const S& shape, Kernel kernel, Share share,
         Moved<Result> result, Moved<Rest>... rest) {
  if (result.plane == 0) return;
  Context& c = context(input.device());
  for_planes(input, output, [&](int64_t first, int64_t planes) {
    const int64_t n = planes * result.plane;
    launch(operation, c, grid_for(n * share.threads, share.results), kernel, shape, static_cast<uint32_t>(n),
           result.at(first), rest.at(first)...);
  });
}

// Calls f(the first of the numbers that applies), as a constant.
template <int kFirst, int... kRest, class Applies, class F>
void first_of(Applies applies, F f) {
  if constexpr (sizeof...(kRest) > 0)
    if (!applies(kFirst)) return first_of<kRest...>(applies, f);
  f(std::integral_constant<int, kFirst>{});
}

}  // namespace tandem::cuda_impl
