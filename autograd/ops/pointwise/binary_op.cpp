// Calls of elementwise kernels of two arguments, and checks of in-place operations.
#include "tandem/autograd/ops/pointwise/binary_op.h"

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/complex_unary.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/binary.h"

namespace tandem::autograd {

namespace {
// A number becomes a tensor, which broadcasts like it.
Tensor tensor_of(const Operand& operand, const Tensor& out) {
  if (operand.tensor != nullptr) return *operand.tensor;
  Tensor number = empty_raw({}, out.dtype(), out.device());
  fill_raw(number, operand.scalar);
  return number;
}
Tensor parts_of(const Operand& operand, const Tensor& out) { return parts_raw(tensor_of(operand, out)); }

// Complex numbers are added part by part: this needs no kernel, and infinite parts do not meet the other parts' zeros.
void add_parts(const Tensor& out, const Operand& a, const Operand& b, const Scalar& factor) {
  const auto& binary = backend(out).binary.value;
  const Complex<double> z = factor.toComplexDouble();
  if (z.im == 0) return binary.get<ops::Add>()(parts_raw(out), parts_of(a, out), parts_of(b, out), z.re);
  const Tensor product = empty_raw(out.sizes(), out.dtype(), out.device());
  binary.get<ops::Mul>()(product, tensor_of(b, out), factor, 0);
  binary.get<ops::Add>()(parts_raw(out), parts_of(a, out), parts_raw(product), 1);
}
Operand rounded(const Operand& operand, ScalarType half) {
  return operand.tensor != nullptr ? operand : Operand(rounded_number(operand.scalar, half));
}
}  // namespace

void run_binary(std::size_t op, const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter) {
  if (is_complex(out.dtype()) && op == index_of<ops::Add, ops::BinaryOps>) [[unlikely]]
    return add_parts(out, a, b, parameter);
  if (is_complex(out.dtype()) && op == index_of<ops::Pow, ops::BinaryOps>) [[unlikely]]
    return copy_raw(out, complex_pow(tensor_of(a, out), tensor_of(b, out)));
  // As in PyTorch, numbers take part unrounded only in products and quotients.
  if (isReducedFloatingType(out.dtype()) && op != index_of<ops::Mul, ops::BinaryOps> &&
      op != index_of<ops::Div, ops::BinaryOps>) [[unlikely]]
    return backend(out).binary.value[op](out, rounded(a, out.dtype()), rounded(b, out.dtype()),
                                         rounded_number(parameter, out.dtype()));
  backend(out).binary.value[op](out, a, b, parameter);
}

void check_result_fits(const char* operation, const Tensor& self, ScalarType type) {
  check(promotion_category(type) <= promotion_category(self.dtype()), operation, ": the result has dtype ", type,
        ", which cannot be stored in ", self);
}

}  // namespace tandem::autograd
