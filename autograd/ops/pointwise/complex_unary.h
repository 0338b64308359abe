// Functions of one complex number: values from the parts, derivatives from the formulas of real numbers.
#pragma once
#include <type_traits>

#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/core/formulas/unary_ops.h"

namespace tandem::autograd {

/// The elementwise operation of this name (Op::name) on a complex tensor, without autograd. Throws NotImplementedError
/// if it is not defined for complex numbers.
Tensor complex_unary(const char* name, const Tensor& z);
/// a to the power b, both of one complex dtype, without autograd; 1 where b is 0.
Tensor complex_pow(const Tensor& a, const Tensor& b);

/// g times the conjugate of the derivative, for a holomorphic operation. The formula is linear in g.
template <class Op>
Tensor complex_gradient(const Tensor& g, const Tensor& saved) {
  const Tensor h = conj(g);
  if constexpr (std::is_same_v<Op, ops::Asinh>)
    return conj(h / sqrt(saved * saved + 1));
  else if constexpr (std::is_same_v<Op, ops::Acosh>)  // one root of the product has another sign on the left
    return conj(h / (sqrt(saved - 1) * sqrt(saved + 1)));
  else
    return conj(ops::apply_gradient<Op>(h, saved, 0, 0));
}

}  // namespace tandem::autograd
