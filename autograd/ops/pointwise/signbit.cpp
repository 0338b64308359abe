// signbit, isposinf, isneginf and copysign.
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/detail/refuse_complex.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/inplace_of.h"
#include "tandem/autograd/ops/pointwise/promotion.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/pointwise/where.h"

namespace tandem {
namespace {
using namespace autograd;

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Tensor with_sign(const Tensor& self, const Tensor& negative, ScalarType type) {
  const Tensor size = as_type(self, is_floating_point(type) ? type : get_default_dtype()).abs();
  return where(negative, -size, size);
}

}  // namespace

Tensor signbit(const Tensor& self) {
  refuse_complex("signbit", self);
  if (!self.is_floating_point()) return self.dtype() == kBool ? zeros_like(self) : self < 0;
  const Tensor x = self.detach();
  switch (x.element_size()) {
    case 8:
      return x.view(kLong) < 0;
    case 4:
      return x.view(kInt) < 0;
    default:
      return x.view(kShort) < 0;
  }
}
Tensor isposinf(const Tensor& self) {
  refuse_complex("isposinf", self);
  return self.is_floating_point() ? self == kInfinity : zeros(self.sizes(), self.options().dtype(kBool));
}
Tensor isneginf(const Tensor& self) {
  refuse_complex("isneginf", self);
  return self.is_floating_point() ? self == -kInfinity : zeros(self.sizes(), self.options().dtype(kBool));
}

Tensor copysign(const Tensor& self, const Tensor& other) {
  refuse_complex("copysign", self, other);
  return with_sign(self, signbit(other), result_type(self, other));
}
Tensor copysign(const Tensor& self, const Scalar& other) {
  refuse_complex("copysign", self);
  const bool negative = std::signbit(other.toDouble());
  return with_sign(self, full({}, negative, TensorOptions(kBool).device(self.device())), result_type(self, other));
}

Tensor Tensor::signbit() const { return tandem::signbit(*this); }
Tensor Tensor::isposinf() const { return tandem::isposinf(*this); }
Tensor Tensor::isneginf() const { return tandem::isneginf(*this); }
TANDEM_MEMBERS(copysign, (const Tensor& other), (other))
TANDEM_MEMBERS(copysign, (const Scalar& other), (other))

}  // namespace tandem
