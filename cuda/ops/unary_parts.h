// The functions of one argument and their gradients are templates over the operation, each instantiated in one of
// unary_N, to spread the time to compile.
#pragma once
#include "tandem/core/backend/unary.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {

template <class Op>
void unary(const Tensor& out, const Tensor& in, const Scalar* parameters);
template <class Op>
void gradient(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);

struct UnaryMaker {
  template <class Op>
  static constexpr auto make() {
    return &unary<Op>;
  }
};
struct GradientMaker {
  template <class Op>
  static constexpr auto make() {
    return &gradient<Op>;
  }
};

}  // namespace tandem::cuda_impl
