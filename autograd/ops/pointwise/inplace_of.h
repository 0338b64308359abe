// In-place forms of composite operations: self = f(self).
#pragma once
#include "tandem/autograd/ops/pointwise/binary_op.h"

namespace tandem::autograd {

/// self = f(self), where f computes a new tensor by differentiable operations on self and `inputs`. Throws
/// Error when the result has a different shape or a category that self cannot hold.
template <class F, class... Inputs>
Tensor& inplace_of(const Tensor& self, const char* operation, const F& f, const Inputs&... inputs) {
  return inplace(
      self, operation, Before::kClone,
      [&] {
        NoGradGuard no_grad;
        const Tensor value = f(static_cast<const Tensor&>(self));
        check(value.sizes() == self.sizes(), operation, ": the result ", value, " does not fit in ", self);
        check_result_fits(operation, self, value.dtype());
        copy_raw(self, value);
      },
      [&](const Tensor& before) {
        Tensor value = f(before);
        check(value.sizes() == self.sizes(), operation, ": the result ", value, " does not fit in ", self);
        check_result_fits(operation, self, value.dtype());
        return value;
      },
      inputs...);
}

}  // namespace tandem::autograd

#define TANDEM_UNPACK(...) __VA_ARGS__
/// The members of Tensor f and f_, which is self = f(self, …), from their parameters and arguments in parentheses.
#define TANDEM_MEMBERS(f, parameters, arguments)                                            \
  Tensor Tensor::f parameters const { return tandem::f(*this, TANDEM_UNPACK arguments); }   \
  Tensor& Tensor::f##_ parameters const {                                                   \
    const auto of = [&](const Tensor& x) { return tandem::f(x, TANDEM_UNPACK arguments); }; \
    return ::tandem::autograd::inplace_of(*this, #f "_", of);                               \
  }
/// The same for arguments that may require gradients, which are listed again at the end.
#define TANDEM_MEMBERS_OF(f, parameters, arguments, ...)                                    \
  Tensor Tensor::f parameters const { return tandem::f(*this, TANDEM_UNPACK arguments); }   \
  Tensor& Tensor::f##_ parameters const {                                                   \
    const auto of = [&](const Tensor& x) { return tandem::f(x, TANDEM_UNPACK arguments); }; \
    return ::tandem::autograd::inplace_of(*this, #f "_", of, __VA_ARGS__);                  \
  }
