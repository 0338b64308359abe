// Calls of elementwise kernels of two arguments, and checks of in-place operations.
#include "tandem/autograd/ops/binary_op.h"

#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"

namespace tandem::autograd {

void run_binary(std::size_t op, const Tensor& out, const Operand& a, const Operand& b,
                const Scalar& parameter) {
  backend(out).binary.value[op](out, a, b, parameter);
}

void check_result_fits(const char* operation, const Tensor& self, ScalarType type) {
  const auto category = [](ScalarType t) { return t == kBool ? 0 : is_floating_point(t) ? 2 : 1; };
  check(category(type) <= category(self.dtype()), operation, ": the result has dtype ", type,
        ", which cannot be stored in ", self);
}

}  // namespace tandem::autograd
