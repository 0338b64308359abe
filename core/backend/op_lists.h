// The elementwise operations, declared by the lists that tables of kernels are made of. Each is defined in
// core/formulas as a functor for host and device; a table needs no formulas.
#pragma once
#include "tandem/core/base/type_list.h"

namespace tandem::ops {

/// One argument and a fused gradient (rounding_ops.h has those without).
using GradientOps = TypeList<
    // algebraic_ops.h
    struct Abs, struct Sqrt, struct Rsqrt, struct Reciprocal, struct Square, struct Relu, struct Clamp, struct Hardtanh,
    struct Threshold, struct LeakyRelu, struct Hardsigmoid, struct Hardswish, struct Softsign,
    // exponential_ops.h
    struct Exp, struct Exp2, struct Expm1, struct Log, struct Log2, struct Log10, struct Log1p, struct Erf, struct Erfc,
    // trigonometric_ops.h
    struct Sin, struct Cos, struct Tan, struct Asin, struct Acos, struct Atan, struct Sinh, struct Cosh, struct Tanh,
    struct Asinh, struct Acosh, struct Atanh,
    // activation_ops.h
    struct Sigmoid, struct LogSigmoid, struct Silu, struct Softplus, struct Elu, struct Celu, struct Gelu,
    struct GeluTanh, struct Mish>;
/// One argument.
using UnaryOps = concat_t<GradientOps, TypeList<struct Neg, struct Sign, struct Floor, struct Ceil, struct Round,
                                                struct Trunc, struct Frac, struct BitNot>>;
/// Two arguments and a result of one type (arithmetic_ops.h, bitwise_ops.h).
using BinaryOps =
    TypeList<struct Add, struct Mul, struct Div, struct TruncDivide, struct Fmod, struct Remainder, struct FloorDivide,
             struct Pow, struct Maximum, struct Minimum, struct Atan2, struct Hypot, struct Gcd, struct Lcm,
             struct Nextafter, struct BitAnd, struct BitOr, struct BitXor, struct ShiftLeft, struct ShiftRight>;
/// Two arguments of one type, the result bool (compare_ops.h).
using CompareOps = TypeList<struct Eq, struct Ne, struct Lt, struct Le, struct Gt, struct Ge, struct LogicalAnd,
                            struct LogicalOr, struct LogicalXor, struct AbsLt, struct AbsEq>;
/// Three arguments and a result of one type (ternary_ops.h).
using TernaryOps = TypeList<struct Addcmul, struct Addcdiv, struct Lerp, struct DivBackward>;
/// A Philox block to elements (random_ops.h).
using RandomOps = TypeList<struct Uniform, struct Normal, struct Exponential, struct Bernoulli, struct RandomInteger,
                           struct RandomWideInteger>;

}  // namespace tandem::ops
