// What the pooling kernels share: the place of a result, and the loop over planes that launches them.
#pragma once
#include "tandem/core/tensor.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/launch.h"

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

// Calls f(first plane, planes) for parts that 31 bits can address, with the threads of the last block that have none.
template <class F>
void for_planes(const Tensor& input, const Tensor& output, F f) {
  const int64_t planes = input.size(0);
  const int64_t plane = std::max({int64_t{1}, input.size(1) * input.size(2), output.size(1) * output.size(2)});
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
  return t.defined() ? Moved<T>{t.ptr<T>(), t.size(1) * t.size(2)} : Moved<T>{nullptr, 0};
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
