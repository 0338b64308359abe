// Checks of in-place elementwise operations.
#include "tandem/autograd/ops/binary_op.h"

namespace tandem::autograd {

void check_result_fits(const char* operation, const Tensor& self, ScalarType type) {
  const auto category = [](ScalarType t) { return t == kBool ? 0 : is_floating_point(t) ? 2 : 1; };
  check(category(type) <= category(self.dtype()), operation, ": the result has dtype ", type,
        ", which cannot be stored in ", self);
}

}  // namespace tandem::autograd
