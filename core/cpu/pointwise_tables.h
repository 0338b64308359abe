// The parts of the pointwise table, each made in a file of its own.
#pragma once
#include "tandem/core/backend/pointwise.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
extern const KernelArray<RoundingOps, UnarySignature> rounding_kernels;
extern const KernelArray<AlgebraicOps, UnarySignature> algebraic_kernels;
extern const KernelArray<AlgebraicOps, GradientSignature, "_backward"> algebraic_gradients;
extern const KernelArray<ExponentialOps, UnarySignature> exponential_kernels;
extern const KernelArray<ExponentialOps, GradientSignature, "_backward"> exponential_gradients;
extern const KernelArray<TrigonometricOps, UnarySignature> trigonometric_kernels;
extern const KernelArray<TrigonometricOps, GradientSignature, "_backward"> trigonometric_gradients;
extern const KernelArray<ActivationOps, UnarySignature> activation_kernels;
extern const KernelArray<ActivationOps, GradientSignature, "_backward"> activation_gradients;
extern const KernelArray<ArithmeticOps, BinarySignature> arithmetic_kernels;
extern const KernelArray<BitwiseOps, BinarySignature> bitwise_kernels;
extern const CompareKernels compare_kernels;
extern const TernaryKernels ternary_kernels;
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);
}  // namespace tandem::cpu
