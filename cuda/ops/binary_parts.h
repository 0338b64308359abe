// The functions of two arguments are templates over the operation, each instantiated in one of binary_N, to spread
// the time to compile.
#pragma once
#include "tandem/core/backend/binary.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {

template <class Op>
void binary(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);

struct BinaryMaker {
  template <class Op>
  static constexpr auto make() {
    return &binary<Op>;
  }
};

}  // namespace tandem::cuda_impl
