// PyTorch's promotion rule.
#include "tandem/autograd/ops/pointwise/promotion.h"

#include <cmath>
#include <limits>

namespace tandem {
namespace {

// The higher category wins; within a category, `low` gives way.
// Floating point keeps its precision when it becomes complex.
ScalarType combine(ScalarType high, ScalarType low) {
  if (high == ScalarType::Undefined) return low;
  if (low == ScalarType::Undefined) return high;
  if (promotion_category(low) <= promotion_category(high)) return high;
  return is_complex(low) && is_floating_point(high) ? toComplexType(high) : promote_types(high, low);
}

struct Groups {
  ScalarType dimensioned = ScalarType::Undefined, zero_dim = ScalarType::Undefined, number = ScalarType::Undefined;
  void add(const Tensor& t) {
    ScalarType& group = t.dim() > 0 ? dimensioned : zero_dim;
    group = promote_types(group, t.dtype());
  }
  ScalarType result() const { return combine(combine(dimensioned, zero_dim), number); }
};

}  // namespace

ScalarType result_type(const Tensor& a, const Tensor& b) {
  if (a.dtype() == b.dtype()) return a.dtype();
  Groups groups;
  groups.add(a);
  groups.add(b);
  return groups.result();
}

ScalarType result_type(const Tensor& a, const Scalar& b) { return combine(a.dtype(), autograd::natural_type(b)); }

ScalarType result_type(const Scalar& a, const Scalar& b) {
  return promote_types(autograd::natural_type(a), autograd::natural_type(b));
}

ScalarType result_type(TensorList tensors) {
  Groups groups;
  for (const Tensor& t : tensors) groups.add(t);
  return groups.result();
}

namespace autograd {
ScalarType natural_type(const Scalar& number) {
  return number.isComplex()         ? get_default_complex_dtype()
         : number.isFloatingPoint() ? get_default_dtype()
                                    : number.type();
}
void check_number_fits(const char* operation, const Scalar& value, ScalarType type) {
  bool fits = true;
  if (is_complex(type)) {
    const Complex<double> z = value.toComplexDouble();
    check_number_fits(operation, z.re, toRealValueType(type));
    return check_number_fits(operation, z.im, toRealValueType(type));
  }
  dispatch(type, RealTypes{}, operation, [&]<class T>(Type<T>) {
    using Limits = std::numeric_limits<T>;
    const double x = value.toDouble();
    if constexpr (std::is_same_v<T, Half>)
      fits = !std::isfinite(x) || std::fabs(x) <= 65504;
    else if constexpr (std::is_same_v<T, float>)
      fits = !std::isfinite(x) || std::fabs(x) <= Limits::max();
    else if constexpr (std::is_integral_v<T> && !std::is_same_v<T, bool>)
      fits = !value.isFloatingPoint() && std::is_unsigned_v<T>
                 ? std::fabs(x) <= static_cast<double>(Limits::max())
                 : x >= static_cast<double>(Limits::lowest()) && x <= static_cast<double>(Limits::max());
  });
  check(fits, operation, ": value ", value, " is outside the range of ", type);
}
void check_same_device(const char* operation, const Tensor& a, const Tensor& b) {
  if (a.device() == b.device()) return;
  check((a.dim() == 0 && a.is_cpu()) || (b.dim() == 0 && b.is_cpu()), operation, ": tensors on different devices\n  ",
        a, "\n  ", b, "\n  move one with .to(device)");
}
}  // namespace autograd

}  // namespace tandem
