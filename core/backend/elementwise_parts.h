// Kernels of one and of two arguments as templates over the operation and the loops of a backend. The source of a table
// sees these declarations only; unary_N and binary_N include the definitions (elementwise_kernels.h) and instantiate a
// part of the operations each, which spreads the time to compile.
#pragma once
#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/unary.h"

namespace tandem {

/// Loops::value<Op, T>(out, in, parameters) computes the elements; `parameters` are two T.
template <class Loops>
struct UnaryMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Tensor& in, const Scalar* parameters);
  template <class Op>
  static constexpr auto make() {
    return &kernel<Op>;
  }
};
/// Loops::gradient<Op, T>(out, g, saved, parameters) computes the elements; `parameters` are two T.
template <class Loops>
struct GradientMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);
  template <class Op>
  static constexpr auto make() {
    return &kernel<Op>;
  }
};
/// Loops::value<Op, T>(out, a, b, parameter) checks the divisors of integers and computes the elements.
template <class Loops>
struct BinaryMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
  template <class Op>
  static constexpr auto make() {
    return &kernel<Op>;
  }
};

template <class Loops>
constexpr UnaryKernels make_unary_kernels(HalfCalls half = {}) {
  return {.value = decltype(UnaryKernels::value)::from<UnaryMaker<Loops>>(half),
          .gradient = decltype(UnaryKernels::gradient)::from<GradientMaker<Loops>>(half)};
}
template <class Loops>
constexpr BinaryKernels make_binary_kernels(HalfCalls half = {}) {
  return {.value = decltype(BinaryKernels::value)::from<BinaryMaker<Loops>>(half)};
}

}  // namespace tandem
