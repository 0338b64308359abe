// Comparisons, through the backend's compare kernels.
#include "tandem/autograd/ops/comparison.h"

#include "tandem/autograd/ops/binary_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/comparison.h"

namespace tandem {
namespace {
using namespace autograd;

template <class Op>
Tensor compare(const Tensor& a, const Tensor& b) {
  check_same_device(Op::name, a, b);
  const ScalarType type = result_type(a, b);
  const Device device = device_of(a, b);
  const Prepared x(a, type, device), y(b, type, device);
  Tensor out = empty_raw(broadcast_sizes(a.sizes(), b.sizes(), Op::name), kBool, device);
  backend(device).comparison.value.get<Op>()(out, x, y);
  return out;
}

template <class Op>
Tensor compare(const Tensor& a, const Scalar& b) {
  const Prepared x(a, result_type(a, b), a.device());
  Tensor out = empty_raw(a.sizes(), kBool, a.device());
  backend(a).comparison.value.get<Op>()(out, x, b);
  return out;
}

}  // namespace

Tensor eq(const Tensor& self, const Tensor& other) { return compare<ops::Eq>(self, other); }
Tensor eq(const Tensor& self, const Scalar& other) { return compare<ops::Eq>(self, other); }
Tensor Tensor::eq(const Tensor& other) const { return tandem::eq(*this, other); }
Tensor Tensor::eq(const Scalar& other) const { return tandem::eq(*this, other); }
Tensor ne(const Tensor& self, const Tensor& other) { return compare<ops::Ne>(self, other); }
Tensor ne(const Tensor& self, const Scalar& other) { return compare<ops::Ne>(self, other); }
Tensor Tensor::ne(const Tensor& other) const { return tandem::ne(*this, other); }
Tensor Tensor::ne(const Scalar& other) const { return tandem::ne(*this, other); }
Tensor lt(const Tensor& self, const Tensor& other) { return compare<ops::Lt>(self, other); }
Tensor lt(const Tensor& self, const Scalar& other) { return compare<ops::Lt>(self, other); }
Tensor Tensor::lt(const Tensor& other) const { return tandem::lt(*this, other); }
Tensor Tensor::lt(const Scalar& other) const { return tandem::lt(*this, other); }
Tensor le(const Tensor& self, const Tensor& other) { return compare<ops::Le>(self, other); }
Tensor le(const Tensor& self, const Scalar& other) { return compare<ops::Le>(self, other); }
Tensor Tensor::le(const Tensor& other) const { return tandem::le(*this, other); }
Tensor Tensor::le(const Scalar& other) const { return tandem::le(*this, other); }
Tensor gt(const Tensor& self, const Tensor& other) { return compare<ops::Gt>(self, other); }
Tensor gt(const Tensor& self, const Scalar& other) { return compare<ops::Gt>(self, other); }
Tensor Tensor::gt(const Tensor& other) const { return tandem::gt(*this, other); }
Tensor Tensor::gt(const Scalar& other) const { return tandem::gt(*this, other); }
Tensor ge(const Tensor& self, const Tensor& other) { return compare<ops::Ge>(self, other); }
Tensor ge(const Tensor& self, const Scalar& other) { return compare<ops::Ge>(self, other); }
Tensor Tensor::ge(const Tensor& other) const { return tandem::ge(*this, other); }
Tensor Tensor::ge(const Scalar& other) const { return tandem::ge(*this, other); }

Tensor logical_and(const Tensor& self, const Tensor& other) { return compare<ops::LogicalAnd>(self, other); }
Tensor Tensor::logical_and(const Tensor& other) const { return tandem::logical_and(*this, other); }
Tensor logical_or(const Tensor& self, const Tensor& other) { return compare<ops::LogicalOr>(self, other); }
Tensor Tensor::logical_or(const Tensor& other) const { return tandem::logical_or(*this, other); }
Tensor logical_xor(const Tensor& self, const Tensor& other) { return compare<ops::LogicalXor>(self, other); }
Tensor Tensor::logical_xor(const Tensor& other) const { return tandem::logical_xor(*this, other); }

}  // namespace tandem
