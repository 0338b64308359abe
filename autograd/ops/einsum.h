// Einstein's summation convention.
#pragma once
#include <string_view>

#include "tandem/core/tensor.h"

namespace tandem {

/// "bik,bkj->bij": one letter a dimension; letters that the output leaves out are summed. A letter twice in
/// one operand takes its diagonal; "..." stands for leading dimensions that broadcast. Without "->": the
/// dimensions of "...", then the letters that occur once, in order A to Z, a to z. Operands are contracted
/// from left to right by bmm. Throws Error for an equation that is broken or does not fit the operands.
Tensor einsum(std::string_view equation, TensorList operands);

}  // namespace tandem
