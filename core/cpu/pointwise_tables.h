// The parts of the pointwise table, each made in a file of its own.
#pragma once
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
extern const UnaryKernels unary_kernels;
extern const GradientKernels gradient_kernels;
extern const KernelArray<ArithmeticOps, BinarySignature> arithmetic_kernels;
extern const KernelArray<BitwiseOps, BinarySignature> bitwise_kernels;
extern const CompareKernels compare_kernels;
extern const TernaryKernels ternary_kernels;
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);
}  // namespace tandem::cpu
