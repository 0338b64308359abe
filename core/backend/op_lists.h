// The names of the elementwise operations, by family. The header of each family (arithmetic_ops.h, …) defines
// them as functors for host and device; kernel tables need only the names.
#pragma once
#include "tandem/core/type_list.h"

namespace tandem::ops {
// arithmetic_ops.h
struct Add;
struct Mul;
struct Div;
struct TruncDivide;
struct Fmod;
struct Remainder;
struct FloorDivide;
struct Pow;
struct Maximum;
struct Minimum;
struct Atan2;
struct Hypot;
// bitwise_ops.h
struct BitAnd;
struct BitOr;
struct BitXor;
struct ShiftLeft;
struct ShiftRight;
// compare_ops.h
struct Eq;
struct Ne;
struct Lt;
struct Le;
struct Gt;
struct Ge;
struct LogicalAnd;
struct LogicalOr;
struct LogicalXor;
struct AbsLt;
struct AbsEq;
// ternary_ops.h
struct Addcmul;
struct Addcdiv;
struct Lerp;
struct DivBackward;
// rounding_ops.h
struct Neg;
struct Sign;
struct Floor;
struct Ceil;
struct Round;
struct Trunc;
struct Frac;
struct BitNot;
// algebraic_ops.h
struct Abs;
struct Sqrt;
struct Rsqrt;
struct Reciprocal;
struct Square;
struct Relu;
struct Clamp;
struct Hardtanh;
struct Threshold;
struct LeakyRelu;
struct Hardsigmoid;
struct Hardswish;
struct Softsign;
// exponential_ops.h
struct Exp;
struct Exp2;
struct Expm1;
struct Log;
struct Log2;
struct Log10;
struct Log1p;
struct Erf;
struct Erfc;
// trigonometric_ops.h
struct Sin;
struct Cos;
struct Tan;
struct Asin;
struct Acos;
struct Atan;
struct Sinh;
struct Cosh;
struct Tanh;
struct Asinh;
struct Acosh;
struct Atanh;
// random_ops.h
struct Uniform;
struct Normal;
struct Exponential;
struct Bernoulli;
struct RandomInteger;
struct RandomWideInteger;
// activation_ops.h
struct Sigmoid;
struct LogSigmoid;
struct Silu;
struct Softplus;
struct Elu;
struct Celu;
struct Gelu;
struct GeluTanh;
struct Mish;
}  // namespace tandem::ops

namespace tandem {
/// Two arguments and a result of the same type.
using ArithmeticOps =
    TypeList<ops::Add, ops::Mul, ops::Div, ops::TruncDivide, ops::Fmod, ops::Remainder, ops::FloorDivide,
             ops::Pow, ops::Maximum, ops::Minimum, ops::Atan2, ops::Hypot>;
using BitwiseOps = TypeList<ops::BitAnd, ops::BitOr, ops::BitXor, ops::ShiftLeft, ops::ShiftRight>;
/// Two arguments of the same type, bool result.
using CompareOps = TypeList<ops::Eq, ops::Ne, ops::Lt, ops::Le, ops::Gt, ops::Ge, ops::LogicalAnd,
                            ops::LogicalOr, ops::LogicalXor, ops::AbsLt, ops::AbsEq>;
/// Three arguments and a result of the same type.
using TernaryOps = TypeList<ops::Addcmul, ops::Addcdiv, ops::Lerp, ops::DivBackward>;
/// One argument, without a gradient kernel.
using RoundingOps =
    TypeList<ops::Neg, ops::Sign, ops::Floor, ops::Ceil, ops::Round, ops::Trunc, ops::Frac, ops::BitNot>;
/// One argument, with a gradient kernel; likewise the families below.
using AlgebraicOps =
    TypeList<ops::Abs, ops::Sqrt, ops::Rsqrt, ops::Reciprocal, ops::Square, ops::Relu, ops::Clamp,
             ops::Hardtanh, ops::Threshold, ops::LeakyRelu, ops::Hardsigmoid, ops::Hardswish, ops::Softsign>;
using ExponentialOps = TypeList<ops::Exp, ops::Exp2, ops::Expm1, ops::Log, ops::Log2, ops::Log10, ops::Log1p,
                                ops::Erf, ops::Erfc>;
using TrigonometricOps = TypeList<ops::Sin, ops::Cos, ops::Tan, ops::Asin, ops::Acos, ops::Atan, ops::Sinh,
                                  ops::Cosh, ops::Tanh, ops::Asinh, ops::Acosh, ops::Atanh>;
/// From a Philox block to elements.
using RandomOps = TypeList<ops::Uniform, ops::Normal, ops::Exponential, ops::Bernoulli, ops::RandomInteger,
                           ops::RandomWideInteger>;
using ActivationOps = TypeList<ops::Sigmoid, ops::LogSigmoid, ops::Silu, ops::Softplus, ops::Elu, ops::Celu,
                               ops::Gelu, ops::GeluTanh, ops::Mish>;
}  // namespace tandem
