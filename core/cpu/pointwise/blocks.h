// Elementwise loops for any strides, built on loops with unit stride: operands with other strides are
// gathered into a buffer, and results are scattered from one. Each function is therefore compiled once per
// type, and the surrounding code once for all functions.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/cpu/pointwise/loop.h"
#include "tandem/core/formulas/store.h"

namespace tandem::cpu {

/// out[i] = f(in[0][i], in[1][i], …) for i < n, n > 0; `parameters` is the pointer passed to elementwise.
using UnitLoop = void (*)(void* out, const void* const* in, int64_t n, const void* parameters);

/// A complete elementwise operation. The inputs, at most three, broadcast to out and have the dtype `type`. The loop
/// gets float32 for the half types, and numbers unrounded.
void elementwise(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, UnitLoop loop,
                 const void* parameters = nullptr);
/// The same, but the loop gets elements of the half types as they are.
void elementwise_as_stored(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, UnitLoop loop,
                           const void* parameters = nullptr);

/// Whether the operand's rows run across those of out, in a tensor large enough that this costs more than a
/// copy.
template <int N>
bool crosses(const LoopPlan<N>& plan, std::size_t operand) {
  if (plan.numel < kGrain || plan.strides[0][operand] <= 1) return false;
  for (int d = 1; d < plan.ndim; ++d)
    if (plan.strides[d][operand] == 1) return true;
  return false;
}
/// A copy of the operand in the layout of out's rows.
Tensor straightened(const Tensor& out, const Tensor& operand);

}  // namespace tandem::cpu
