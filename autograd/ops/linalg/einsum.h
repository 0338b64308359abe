// Einstein's summation convention.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// "bik,bkj->bij": one letter per dimension; letters missing from the output are summed over. A letter
/// repeated in one operand takes its diagonal; "..." stands for leading dimensions that broadcast. Without
/// "->" the output has the dimensions of "...", then the letters that occur once, in order A to Z, a to z.
/// Operands are contracted from left to right with bmm. Throws Error for an equation that is malformed or
/// does not match the operands.
Tensor einsum(std::string_view equation, TensorList operands);
/// `path` holds two positions in the list of operands for each contraction, whose result goes to the list's end. It is
/// checked, but the order stays that from left to right.
Tensor einsum(std::string_view equation, TensorList operands, IntArrayRef path);
template <OptionalDims Path>
Tensor einsum(std::string_view equation, TensorList operands, const Path& path) {
  const optional<IntArrayRef> given(path);
  return given ? einsum(equation, operands, *given) : einsum(equation, operands);
}

}  // namespace tandem
