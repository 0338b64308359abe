// Fourier transforms along one dimension. The lines of the dimension are gathered into rows, transformed one by one,
// and scattered; each is the work of one thread, so results do not depend on their number.
#include <algorithm>
#include <list>

#include "tandem/core/cpu/fft_plan.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/threads/parallel_for.h"

namespace tandem::cpu {
namespace {

/// The plan for a transform, made or kept from an earlier call on this thread, which keeps a few plans of modest size.
template <class Plan>
const Plan& plan_for(int64_t n, bool inverse) {
  struct Kept {
    int64_t n;
    bool inverse;
    Plan plan;
  };
  constexpr std::size_t kPlans = 4;
  constexpr int64_t kPoints = 1 << 16;
  thread_local std::list<Kept> kept;  // the latest first
  const auto found =
      std::find_if(kept.begin(), kept.end(), [&](const Kept& k) { return k.n == n && k.inverse == inverse; });
  if (found != kept.end()) {
    kept.splice(kept.begin(), kept, found);
    return kept.front().plan;
  }
  std::erase_if(kept, [](const Kept& k) { return k.n > kPoints; });
  if (kept.size() == kPlans) kept.pop_back();
  kept.push_front({n, inverse, Plan(n, inverse)});
  return kept.front().plan;
}

/// The lines of a tensor along one dimension: sizes and strides of the other dimensions.
struct Lines {
  Lines(const Tensor& t, int64_t dim, int64_t dims) : stride(t.stride(dim)) {
    for (int64_t d = 0; d < dims; ++d) {
      if (d == dim) continue;
      sizes.push_back(t.size(d));
      strides.push_back(t.stride(d));
    }
  }
  /// The first element of line i.
  int64_t start(int64_t i) const {
    int64_t offset = 0;
    for (std::size_t d = sizes.size(); d-- > 0; i /= sizes[d]) offset += i % sizes[d] * strides[d];
    return offset;
  }
  Dims sizes, strides;
  int64_t stride;
};

/// Elements of lines, real or pairs of numbers at a distance of `part`.
template <class T>
struct Access {
  T* data;
  int64_t part;
  void read(T& value, int64_t at) const { value = data[at]; }
  void read(std::complex<T>& value, int64_t at) const { value = {data[at], data[at + part]}; }
  void write(T value, int64_t at) const { data[at] = value; }
  void write(std::complex<T> value, int64_t at) const {
    data[at] = value.real();
    data[at + part] = value.imag();
  }
};

/// Calls transform(plan, y, x) for every line, where x has n_in elements In and y n_out elements Out. Lines are read
/// and written in groups, because neighbouring lines often share cache lines.
template <class T, class In, class Out, class Plan, class Transform>
void for_lines(const Tensor& out, const Tensor& a, int64_t dim, const Plan& plan, T scale, Transform transform) {
  const int64_t dims = std::min(a.dim(), out.dim()) - (a.dim() == out.dim() ? 1 : 0);
  const Lines from(a, dim, dims), to(out, dim, dims);
  const int64_t n_in = a.size(dim), n_out = out.size(dim), longest = std::max(n_in, n_out);
  int64_t count = 1;
  for (const int64_t size : to.sizes) count *= size;
  const Access<T> source{a.ptr<T>(), a.stride(-1)}, target{out.ptr<T>(), out.stride(-1)};
  const int64_t group = std::clamp<int64_t>(16384 / longest, 1, 8);
  const int64_t grain = std::max<int64_t>(1, 16384 / longest / group) * group;
  parallel_for(count, grain, [&](int64_t begin, int64_t end) {
    Plan mine = plan;
    std::vector<In> x(static_cast<std::size_t>(group * n_in));
    std::vector<Out> y(static_cast<std::size_t>(group * n_out));
    int64_t starts[8];
    for (int64_t i = begin; i < end; i += group) {
      const int64_t lines = std::min(group, end - i);
      for (int64_t l = 0; l < lines; ++l) starts[l] = from.start(i + l);
      for (int64_t j = 0; j < n_in; ++j)
        for (int64_t l = 0; l < lines; ++l)
          source.read(x[static_cast<std::size_t>(l * n_in + j)], starts[l] + j * from.stride);
      for (int64_t l = 0; l < lines; ++l) transform(mine, y.data() + l * n_out, x.data() + l * n_in);
      for (int64_t l = 0; l < lines; ++l) starts[l] = to.start(i + l);
      for (int64_t k = 0; k < n_out; ++k)
        for (int64_t l = 0; l < lines; ++l)
          target.write(scale * y[static_cast<std::size_t>(l * n_out + k)], starts[l] + k * to.stride);
    }
  });
}

void c2c(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  dispatch(a.dtype(), FloatTypes{}, "fft", [&]<class T>(Type<T>) {
    using C = std::complex<T>;
    for_lines<T, C, C>(out, a, dim, plan_for<ComplexPlan<T>>(a.size(dim), inverse), static_cast<T>(scale),
                       [](ComplexPlan<T>& plan, C* y, const C* x) { plan.transform(y, x); });
  });
}

void r2c(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  dispatch(a.dtype(), FloatTypes{}, "fft", [&]<class T>(Type<T>) {
    using C = std::complex<T>;
    const int64_t n = a.size(dim);
    const bool twosided = out.size(dim) == n;
    for_lines<T, T, C>(out, a, dim, plan_for<RealPlan<T>>(n, inverse), static_cast<T>(scale),
                       [=](RealPlan<T>& plan, C* y, const T* x) {
                         plan.real_to_complex(y, x);
                         for (int64_t k = n / 2 + 1; twosided && k < n; ++k) y[k] = std::conj(y[n - k]);
                       });
  });
}

void c2r(const Tensor& out, const Tensor& a, int64_t dim, bool inverse, double scale) {
  dispatch(a.dtype(), FloatTypes{}, "fft", [&]<class T>(Type<T>) {
    using C = std::complex<T>;
    for_lines<T, C, T>(out, a, dim, plan_for<RealPlan<T>>(out.size(dim), inverse), static_cast<T>(scale),
                       [](RealPlan<T>& plan, T* y, const C* x) { plan.complex_to_real(y, x); });
  });
}

}  // namespace

constinit const FftKernels fft_kernels{.c2c = c2c, .r2c = r2c, .c2r = c2r};

}  // namespace tandem::cpu
