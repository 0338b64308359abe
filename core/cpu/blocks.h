// Elementwise loops of any strides by way of loops of unit stride: operands of other strides are gathered
// into a buffer, results scattered from one. So a function is compiled once for each type, and everything
// around it once for all functions.
#pragma once
#include "tandem/core/backend/kernel.h"
#include "tandem/core/cpu/loop.h"
#include "tandem/core/formulas/store.h"

namespace tandem::cpu {

/// out[i] = f(in[0][i], in[1][i], …) for i < n, which is not 0; `parameters` are those given to elementwise.
using UnitLoop = void (*)(void* out, const void* const* in, int64_t n, const void* parameters);

/// The whole of an elementwise operation. The inputs, three at most, broadcast to out and are of the dtype
/// `type`.
void elementwise(const Tensor& out, std::initializer_list<Operand> in, ScalarType type, UnitLoop loop,
                 const void* parameters = nullptr);

/// Whether the rows of an operand lie across those of out, in a tensor where that costs more than a copy
/// does.
template <int N>
bool crosses(const LoopPlan<N>& plan, std::size_t operand) {
  if (plan.numel < kGrain || plan.strides[0][operand] <= 1) return false;
  for (int d = 1; d < plan.ndim; ++d)
    if (plan.strides[d][operand] == 1) return true;
  return false;
}
/// A copy of the operand, laid out in rows of out's shape.
Tensor straightened(const Tensor& out, const Tensor& operand);

}  // namespace tandem::cpu
