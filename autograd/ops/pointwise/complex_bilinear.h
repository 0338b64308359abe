// Functions of two complex tensors from the function of real ones.
#pragma once
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/complex.h"

namespace tandem::autograd {

/// function(x, w) of complex tensors by four calls for real ones. The function is linear in each argument.
template <class F>
Tensor complex_bilinear(const Tensor& x, const Tensor& w, const F& function) {
  const Tensor a = real(x), b = imag(x), c = real(w), d = imag(w);
  return complex(function(a, c) - function(b, d), function(a, d) + function(b, c));
}

}  // namespace tandem::autograd
