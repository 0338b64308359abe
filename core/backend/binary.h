// Elementwise kernels of two arguments. They broadcast to `out`, which has its final shape and may be one of them; any
// strides; one device.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

namespace ops {
/// Two arguments and a result of one type (arithmetic_ops.h, bitwise_ops.h).
using BinaryOps =
    TypeList<struct Add, struct Mul, struct Div, struct TruncDivide, struct Fmod, struct Remainder, struct FloorDivide,
             struct Pow, struct Maximum, struct Minimum, struct Atan2, struct Hypot, struct Gcd, struct Lcm,
             struct Nextafter, struct BitAnd, struct BitOr, struct BitXor, struct ShiftLeft, struct ShiftRight>;
}  // namespace ops

/// out, a and b have one dtype; at least one of a and b is a tensor. Integer division by zero throws Error.
using BinarySignature = void(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);

struct BinaryKernels {
  KernelArray<ops::BinaryOps, BinarySignature> value;
};

/// The kernels as templates over the loops of a backend, as those of one argument (unary.h):
/// Loops::value<Op, T>(out, a, b, parameter) checks the divisors of integers and computes the elements.
template <class Loops>
struct BinaryMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);
};
template <class Loops>
constexpr BinaryKernels make_binary_kernels(HalfCalls half = {}) {
  return {.value = decltype(BinaryKernels::value)::from<BinaryMaker<Loops>>(half)};
}

}  // namespace tandem
