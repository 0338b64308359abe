// Copies between any two dtypes, and fills.
#include <cstring>

#include "tandem/core/backend/copy.h"
#include "tandem/core/cpu/linalg/transpose.h"
#include "tandem/core/cpu/pointwise/blocks.h"
#include "tandem/core/cpu/pointwise/half_loops.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/convert.h"

namespace tandem::cpu {
namespace {

// to[c * ld_to + r] = from[r * ld_from + c]; writes nothing else.
template <class Bits>
void transpose_bits(int64_t rows, int64_t columns, const Bits* from, int64_t ld_from, Bits* to, int64_t ld_to) {
  int64_t done = 0;
  if constexpr (sizeof(Bits) == 4 || sizeof(Bits) == 8) {  // floating point registers move any bits unchanged
    using Real = std::conditional_t<sizeof(Bits) == 4, float, double>;
    done = rows / kLanes<Real> * kLanes<Real>;
    transpose(done, columns, reinterpret_cast<const Real*>(from), ld_from, reinterpret_cast<Real*>(to), ld_to);
  }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = done; r < rows; ++r) to[c * ld_to + r] = from[r * ld_from + c];
}

// Copies between transposed layouts in tiles that fit the cache. Returns false if the layouts are not transposed or
// the copy is small.
template <class Bits>
bool copy_transposed(const LoopPlan<2>& plan) {
  constexpr int64_t kColumns = 64;
  int across = 1;  // the dimension of unit stride in `in`
  while (across < plan.ndim && plan.strides[across][1] != 1) ++across;
  const int64_t rows = plan.sizes[0], ld_from = plan.strides[0][1];
  if (across >= plan.ndim || plan.strides[0][0] != 1 || rows < 8 || plan.sizes[across] < 8 || ld_from == 1 ||
      ld_from == 0 || plan.numel < 4096)
    return false;
  const int64_t columns = plan.sizes[across], ld_to = plan.strides[across][0];
  const int64_t tiles = (columns + kColumns - 1) / kColumns, planes = plan.numel / (rows * columns);
  const int64_t tile_work = rows * std::min(columns, kColumns);
  parallel_for(tiles * planes, std::max<int64_t>(1, kGrain / tile_work), [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) {
      const int64_t column = t % tiles * kColumns;
      int64_t rest = t / tiles, to = column * ld_to, from = column;
      for (int d = 1; d < plan.ndim; ++d) {
        if (d == across) continue;
        to += rest % plan.sizes[d] * plan.strides[d][0];
        from += rest % plan.sizes[d] * plan.strides[d][1];
        rest /= plan.sizes[d];
      }
      transpose_bits(rows, std::min(kColumns, columns - column), reinterpret_cast<const Bits*>(plan.data[1]) + from,
                     ld_from, reinterpret_cast<Bits*>(plan.data[0]) + to, ld_to);
    }
  });
  return true;
}

// Copies elements of one size, whatever their dtype.
template <class Bits>
void copy_bits(const Tensor& out, const Tensor& in) {
  const LoopPlan<2> plan = make_plan<2>({&out, &in});
  if (copy_transposed<Bits>(plan)) return;
  parallel_runs(plan, [](const auto& p, const auto& s, int64_t n) {
    Bits* to = reinterpret_cast<Bits*>(p[0]);
    const Bits* from = reinterpret_cast<const Bits*>(p[1]);
    if (s[0] == 1 && s[1] == 1)
      std::memmove(to, from, static_cast<std::size_t>(n) * sizeof(Bits));
    else if (s[0] == 1 && s[1] == 0)
      std::fill_n(to, n, *from);
    else
      for (int64_t i = 0; i < n; ++i) to[i * s[0]] = from[i * s[1]];
  });
}

void copy_same(const Tensor& out, const Tensor& in) {
  if (out.is_contiguous() && in.is_contiguous() && in.numel() == out.numel()) {
    char* to = static_cast<char*>(out.data_ptr());
    const char* from = static_cast<const char*>(in.data_ptr());
    parallel_for(static_cast<int64_t>(out.nbytes()), 4 * kGrain, [=](int64_t begin, int64_t end) {
      std::memmove(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
    return;
  }
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) { copy_bits<Bits>(out, in); });
}

template <class To, class From>
void convert_loop(void* to, const void* const* in, int64_t n, const void*) {
  To* out = static_cast<To*>(to);
  const From* from = static_cast<const From*>(in[0]);
  for (int64_t i = 0; i < n; ++i) out[i] = ops::convert<To>(from[i]);
}

void widen_loop(void* to, const void* const* in, int64_t n, const void* type) {
  widen(*static_cast<const ScalarType*>(type), static_cast<float*>(to), in[0], n);
}
void narrow_loop(void* to, const void* const* in, int64_t n, const void* type) {
  narrow(*static_cast<const ScalarType*>(type), to, static_cast<const float*>(in[0]), n);
}

template <class Bits>
void fill_bits(const Tensor& out, const void* value) {
  parallel_runs(make_plan<1>({&out}), [x = *static_cast<const Bits*>(value)](const auto& p, const auto& s, int64_t n) {
    Bits* o = reinterpret_cast<Bits*>(p[0]);
    if (s[0] == 1)
      std::fill_n(o, n, x);
    else
      for (int64_t i = 0; i < n; ++i) o[i * s[0]] = x;
  });
}

}  // namespace

void copy(const Tensor& out, const Tensor& in) {
  if (out.numel() == 0) return;
  if (out.dtype() == in.dtype()) return copy_same(out, in);
  // Half types are converted by way of float32.
  const ScalarType to = out.dtype(), from = in.dtype();
  if (to == kFloat && isReducedFloatingType(from)) return elementwise_as_stored(out, {in}, from, widen_loop, &from);
  if (from == kFloat && isReducedFloatingType(to)) return elementwise_as_stored(out, {in}, from, narrow_loop, &to);
  using Types = concat_t<ComputedTypes, UnsignedTypes>;
  dispatch(toOpMathType(to), Types{}, "copy_", [&]<class To>(Type<To>) {
    dispatch(toOpMathType(from), Types{}, "copy_",
             [&]<class From>(Type<From>) { elementwise(out, {in}, from, convert_loop<To, From>); });
  });
}

void fill(const Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  alignas(8) char bits[kMaxItem];
  store(value, out.dtype(), bits);
  dispatch_bits(out.element_size(), [&]<class Bits>(Type<Bits>) { fill_bits<Bits>(out, bits); });
}

constinit const CopyKernels copy_kernels{.copy = copy, .fill = fill};

}  // namespace tandem::cpu
