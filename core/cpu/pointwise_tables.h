// The parts of the pointwise table, each made in a file of its own.
#pragma once
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
extern const UnaryKernels unary_kernels;
extern const BinaryKernels binary_kernels;
extern const CompareKernels compare_kernels;
}  // namespace tandem::cpu
