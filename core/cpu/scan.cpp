// Running sums, products and extremes on the CPU. kTile lines are processed side by side to hide the latency of each
// line's dependency chain.
#include <limits>

#include "tandem/core/backend/scan.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/scan_ops.h"
#include "tandem/core/line_split.h"

namespace tandem::cpu {
namespace {

using ops::Running, ops::ScanTypes;
constexpr int64_t kTile = 64;

// Processes `width` lines; `step` separates elements of a line, `apart` separates lines. next(state, offset)
// returns the new state of a line.
template <class T, class Next>
void run_lines(T* out, int64_t n, int64_t step, int64_t width, int64_t apart, Running<T> first, Next next) {
  Running<T> state[kTile];
  std::fill_n(state, width, first);
  if (apart == 1) {
    for (int64_t i = 0; i < n; ++i)
      for (int64_t j = 0; j < width; ++j) out[i * step + j] = static_cast<T>(state[j] = next(state[j], i * step + j));
    return;
  }
  // Processes one cache line of each line at a time: lines a power of two apart evict each other from the
  // cache.
  constexpr int64_t kBlock = 64 / sizeof(T);
  for (int64_t block = 0; block < n; block += kBlock)
    for (int64_t j = 0; j < width; ++j)
      for (int64_t i = block; i < std::min(n, block + kBlock); ++i)
        out[i * step + j * apart] = static_cast<T>(state[j] = next(state[j], i * step + j * apart));
}

// Calls lines(offset, step, width, apart) for groups of lines; a reversed run starts at the end with a
// negative step.
template <class Lines>
void for_lines(IntArrayRef sizes, int64_t dim, bool reverse, Lines lines) {
  const LineSplit s(sizes, dim);
  if (s.n == 0 || s.lines() == 0) return;
  const int64_t step = reverse ? -s.inner : s.inner, begin_at = reverse ? (s.n - 1) * s.inner : 0;
  const bool rows = s.inner == 1;  // side by side: rows of a matrix, otherwise columns
  const int64_t across = rows ? s.outer : s.inner, group = rows ? 8 : kTile;
  const int64_t groups = (across + group - 1) / group, apart = rows ? s.n : 1;
  parallel_for_each(
      groups * (rows ? 1 : s.outer), std::max<int64_t>(1, kGrain / (s.n * std::min(group, across))), [&](int64_t t) {
        const int64_t line = t % groups * group, plane = t / groups;
        lines(plane * s.n * s.inner + line * apart + begin_at, step, std::min(group, across - line), apart);
      });
}

template <class T>
void run_scan(const Tensor& out, const Tensor& in, int64_t dim, bool reverse, Running<T> first, auto combine) {
  const int64_t n = LineSplit(out.sizes(), dim).n;
  for_lines(out.sizes(), dim, reverse, [&](int64_t at, int64_t step, int64_t width, int64_t apart) {
    const T* x = in.ptr<T>() + at;
    run_lines(out.ptr<T>() + at, n, step, width, apart, first,
              [=](Running<T> state, int64_t offset) { return combine(state, static_cast<Running<T>>(x[offset])); });
  });
}

void cumsum(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), ScanTypes{}, "cumsum", [&]<class T>(Type<T>) {
    run_scan<T>(out, in, dim, reverse, 0, [](auto a, auto b) { return ops::wrapping_sum(a, b); });
  });
}
void cumprod(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), ScanTypes{}, "cumprod", [&]<class T>(Type<T>) {
    run_scan<T>(out, in, dim, reverse, 1, [](auto a, auto b) { return ops::Mul::apply(a, b); });
  });
}

void linear_recurrence(const Tensor& out, const Tensor& a, const Tensor& b, int64_t dim, bool reverse) {
  dispatch(out.dtype(), FloatTypes{}, "linear_recurrence", [&]<class T>(Type<T>) {
    const int64_t n = LineSplit(out.sizes(), dim).n;
    for_lines(out.sizes(), dim, reverse, [&](int64_t at, int64_t step, int64_t width, int64_t apart) {
      const T *factor = a.ptr<T>() + at, *x = b.ptr<T>() + at;
      run_lines(out.ptr<T>() + at, n, step, width, apart, Running<T>(0), [=](Running<T> y, int64_t offset) {
        return static_cast<Running<T>>(x[offset]) + static_cast<Running<T>>(factor[offset]) * y;
      });
    });
  });
}

void logcumsumexp(const Tensor& out, const Tensor& in, int64_t dim, bool reverse) {
  dispatch(in.dtype(), FloatTypes{}, "logcumsumexp", [&]<class T>(Type<T>) {
    run_scan<T>(out, in, dim, reverse, -std::numeric_limits<double>::infinity(),
                [](double a, double b) { return ops::log_add_exp(a, b); });
  });
}

void cummax(const Tensor& out, const Tensor& in, int64_t dim, bool smallest) {
  const LineSplit s(in.sizes(), dim);
  if (s.n == 0) return;
  dispatch(in.dtype(), ComputedTypes{}, "cummax", [&]<class T>(Type<T>) {
    parallel_for_each(s.lines(), std::max<int64_t>(1, kGrain / s.n), [&](int64_t line) {
      const int64_t start = line / s.inner * s.n * s.inner + line % s.inner;
      const T* x = in.ptr<T>() + start;
      int64_t* o = out.ptr<int64_t>() + start;
      int64_t best = 0;
      for (int64_t i = 0; i < s.n; ++i) {
        if (ops::extends(x[best * s.inner], x[i * s.inner], smallest)) best = i;
        o[i * s.inner] = best;
      }
    });
  });
}

}  // namespace

constinit const ScanKernels scan_kernels{.cumsum = cumsum,
                                         .cumprod = cumprod,
                                         .linear_recurrence = linear_recurrence,
                                         .logcumsumexp = logcumsumexp,
                                         .cummax = cummax};

}  // namespace tandem::cpu
