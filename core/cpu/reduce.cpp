// Reductions on the CPU. A sum has a fixed order: blocks by the shape alone, then pairwise.
#include "tandem/core/cpu/loop.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

// Pairwise over blocks of 512, eight (or more) running sums in a block so that it vectorises.
template <class T>
T sum_run(const T* x, int64_t stride, int64_t n) {
  if (n > 512) {
    const int64_t half = (n / 2 + 511) / 512 * 512;
    return static_cast<T>(sum_run(x, stride, half) + sum_run(x + half * stride, stride, n - half));
  }
  constexpr int kLanes = 32;
  T lanes[kLanes] = {};
  int64_t i = 0;
  if (stride == 1) {
    for (; i + kLanes <= n; i += kLanes)
      for (int k = 0; k < kLanes; ++k) lanes[k] = static_cast<T>(lanes[k] + x[i + k]);
  }
  T tail = 0;
  for (; i < n; ++i) tail = static_cast<T>(tail + x[i * stride]);
  for (int width = kLanes / 2; width > 0; width /= 2)
    for (int k = 0; k < width; ++k) lanes[k] = static_cast<T>(lanes[k] + lanes[k + width]);
  return static_cast<T>(lanes[0] + tail);
}

// One output element: recursion over the reduced dimensions, outermost first.
template <class T>
T sum_dims(const T* x, const Dims& sizes, const Dims& strides, std::size_t d) {
  if (d == sizes.size()) return *x;
  if (d + 1 == sizes.size()) return sum_run(x, strides[d], sizes[d]);
  T total = 0;
  for (int64_t i = 0; i < sizes[d]; ++i)
    total = static_cast<T>(total + sum_dims(x + i * strides[d], sizes, strides, d + 1));
  return total;
}

void sum(const Tensor& out, const Tensor& in, uint32_t mask) {
  Dims kept_sizes, kept_in, kept_out, sizes, strides;
  for (std::size_t d = 0; d < in.sizes().size(); ++d) {
    if (mask >> d & 1u) {
      sizes.push_back(in.sizes()[d]);
      strides.push_back(in.strides()[d]);
    } else {
      kept_sizes.push_back(in.sizes()[d]);
      kept_in.push_back(in.strides()[d]);
      kept_out.push_back(out.strides()[d]);
    }
  }
  // Merge contiguous reduced dimensions.
  for (std::size_t d = sizes.size(); d-- > 1;)
    if (strides[d - 1] == strides[d] * sizes[d]) {
      sizes[d - 1] *= sizes[d];
      strides[d - 1] = strides[d];
      sizes.erase(d);
      strides.erase(d);
    }
  const int64_t reduced = checked_numel(sizes), outputs = checked_numel(kept_sizes);
  dispatch(in.dtype(), NumericTypes{}, "sum", [&]<class T>(Type<T>) {
    T* o = out.ptr<T>();
    const T* x = in.ptr<T>();
    if (outputs == 1 && sizes.size() == 1 && reduced > 65536) {  // one long sum: fixed parts, then their sum
      constexpr int64_t kPart = 32768;
      const int64_t parts = (reduced + kPart - 1) / kPart;
      std::vector<T> partial(static_cast<std::size_t>(parts));
      parallel_for(parts, 1, [&](int64_t begin, int64_t end) {
        for (int64_t p = begin; p < end; ++p)
          partial[static_cast<std::size_t>(p)] =
              sum_run(x + p * kPart * strides[0], strides[0], std::min(kPart, reduced - p * kPart));
      });
      *o = sum_run(partial.data(), 1, parts);
      return;
    }
    parallel_for(outputs, std::max<int64_t>(1, kGrain / std::max<int64_t>(1, reduced)),
                 [&](int64_t begin, int64_t end) {
                   for (int64_t i = begin; i < end; ++i) {
                     int64_t rest = i, from = 0, to = 0;
                     for (std::size_t d = kept_sizes.size(); d-- > 0;) {
                       const int64_t at = rest % kept_sizes[d];
                       rest /= kept_sizes[d];
                       from += at * kept_in[d];
                       to += at * kept_out[d];
                     }
                     o[to] = reduced == 0 ? T(0) : sum_dims(x + from, sizes, strides, 0);
                   }
                 });
  });
}

}  // namespace

constinit const ReduceKernels reduce_kernels{.sum = sum};

}  // namespace tandem::cpu
