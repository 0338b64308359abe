// Copies between any two dtypes, and fills.
#include <cstring>

#include "tandem/core/cpu/loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class To, class From>
To convert(From value) {
  if constexpr (std::is_same_v<To, bool>)
    return static_cast<float>(value) != 0;
  else if constexpr (std::is_same_v<To, Half> || std::is_same_v<To, BFloat16>)
    return To(static_cast<float>(value));
  else if constexpr (std::is_same_v<From, Half> || std::is_same_v<From, BFloat16>)
    return static_cast<To>(static_cast<float>(value));
  else
    return static_cast<To>(value);
}
template <>
inline bool convert<bool, int64_t>(int64_t value) {
  return value != 0;
}
template <>
inline bool convert<bool, int32_t>(int32_t value) {
  return value != 0;
}
template <>
inline bool convert<bool, double>(double value) {
  return value != 0;
}

// Bytes of one size, whatever they mean.
template <class Bits>
void copy_bits(const Tensor& out, const Tensor& in) {
  parallel_runs(make_plan<2>({&out, &in}), [](const auto& p, const auto& s, int64_t n) {
    unary_run(reinterpret_cast<Bits*>(p[0]), s[0], reinterpret_cast<const Bits*>(p[1]), s[1], n,
              [](Bits x) { return x; });
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
  switch (out.element_size()) {
    case 1:
      return copy_bits<uint8_t>(out, in);
    case 2:
      return copy_bits<uint16_t>(out, in);
    case 4:
      return copy_bits<uint32_t>(out, in);
    default:
      return copy_bits<uint64_t>(out, in);
  }
}

void copy(const Tensor& out, const Tensor& in) {
  if (out.numel() == 0) return;
  if (out.dtype() == in.dtype()) return copy_same(out, in);
  const auto plan = make_plan<2>({&out, &in});
  dispatch(out.dtype(), AllTypes{}, "copy_", [&]<class To>(Type<To>) {
    dispatch(in.dtype(), AllTypes{}, "copy_", [&]<class From>(Type<From>) {
      parallel_runs(plan, [](const auto& p, const auto& s, int64_t n) {
        unary_run(reinterpret_cast<To*>(p[0]), s[0], reinterpret_cast<const From*>(p[1]), s[1], n,
                  [](From x) { return convert<To>(x); });
      });
    });
  });
}

void fill(const Tensor& out, const Scalar& value) {
  if (out.numel() == 0) return;
  dispatch(out.dtype(), AllTypes{}, "fill_", [&]<class T>(Type<T>) {
    const T x = value.to<T>();
    parallel_runs(make_plan<1>({&out}), [x](const auto& p, const auto& s, int64_t n) {
      T* o = reinterpret_cast<T*>(p[0]);
      if (s[0] == 1)
        std::fill_n(o, n, x);
      else
        for (int64_t i = 0; i < n; ++i) o[i * s[0]] = x;
    });
  });
}

}  // namespace

constinit const PointwiseKernels pointwise_kernels{
    .unary = {.rounding = rounding_kernels,
              .algebraic = algebraic_kernels,
              .exponential = exponential_kernels,
              .trigonometric = trigonometric_kernels,
              .activation = activation_kernels},
    .gradient = {.algebraic = algebraic_gradients,
                 .exponential = exponential_gradients,
                 .trigonometric = trigonometric_gradients,
                 .activation = activation_gradients},
    .binary = {.arithmetic = arithmetic_kernels, .bitwise = bitwise_kernels},
    .compare = compare_kernels,
    .ternary = ternary_kernels,
    .where = where,
    .copy = copy,
    .fill = fill,
};

}  // namespace tandem::cpu
