// Comparisons, through the backend's compare kernels.
#include "tandem/autograd/ops/pointwise/comparison.h"

#include "tandem/autograd/ops/detail/half.h"
#include "tandem/autograd/ops/pointwise/binary_op.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/memory_format.h"

namespace tandem {
namespace {
using namespace autograd;

template <class Op>
Tensor compare(const Tensor& a, const Tensor& b);

// Complex numbers are equal if both parts are, and true if they are not 0. They have no order: the kernels refuse them.
template <class Op>
Tensor compare_complex(const Tensor& a, const Tensor& b) {
  const auto& kernels = backend(a).comparison.value;
  const Dims sizes = broadcast_sizes(a.sizes(), b.sizes(), Op::name);
  Tensor out = empty_elementwise(sizes, kBool, a.device(), a, b);
  if constexpr (std::is_same_v<Op, ops::Eq> || std::is_same_v<Op, ops::Ne>) {
    NoGradGuard no_grad;
    using Both = std::conditional_t<std::is_same_v<Op, ops::Eq>, ops::LogicalAnd, ops::LogicalOr>;
    Dims with_parts(sizes);
    with_parts.push_back(2);
    const Tensor parts = empty_raw(with_parts, kBool, a.device());
    kernels.get<Op>()(parts, parts_raw(a), parts_raw(b));
    kernels.get<Both>()(out, parts.select(-1, 0), parts.select(-1, 1));
  } else if constexpr (std::is_same_v<Op, ops::LogicalAnd> || std::is_same_v<Op, ops::LogicalOr> ||
                       std::is_same_v<Op, ops::LogicalXor>) {
    kernels.get<Op>()(out, a.detach().to(kBool), b.detach().to(kBool));
  } else {
    kernels.get<Op>()(out, a, b);
  }
  return out;
}

// Unsigned numbers are equal if the signed numbers of the same bits are. As in PyTorch, they are not put in order.
template <class Op>
Tensor compare_unsigned(const Tensor& a, const Tensor& b) {
  if constexpr (std::is_same_v<Op, ops::Eq> || std::is_same_v<Op, ops::Ne>) {
    const auto as_signed = [](const Tensor& t) {
      return t.detach().view(t.element_size() == 2 ? kShort : t.element_size() == 4 ? kInt : kLong);
    };
    return compare<Op>(as_signed(a), as_signed(b));
  } else {
    unsupported_dtype(Op::name, a.scalar_type());
  }
}

template <class Op>
Tensor compare(const Tensor& a, const Tensor& b) {
  check_same_device(Op::name, a, b);
  const ScalarType type = result_type(a, b);
  const Device device = device_of(a, b);
  const Prepared x(a, type, device), y(b, type, device);
  if (is_complex(type)) return compare_complex<Op>(x.tensor(), y.tensor());
  if (isBarebonesUnsignedType(type)) return compare_unsigned<Op>(x.tensor(), y.tensor());
  Tensor out = empty_elementwise(broadcast_sizes(a.sizes(), b.sizes(), Op::name), kBool, device, a, b);
  backend(device).comparison.value.get<Op>()(out, x, y);
  return out;
}

template <class Op>
Tensor compare(const Tensor& a, const Scalar& b) {
  const ScalarType type = result_type(a, b);
  const Prepared x(a, type, a.device());
  if (is_complex(type)) {
    const Tensor number = empty_raw({}, type, a.device());
    fill_raw(number, b);
    return compare_complex<Op>(x.tensor(), number);
  }
  if (isBarebonesUnsignedType(type)) {  // other numbers wrap around, as in PyTorch
    const Tensor wide = empty_raw({}, kUInt64, a.device()), number = empty_raw({}, type, a.device());
    fill_raw(wide, b);
    copy_raw(number, wide);
    return compare_unsigned<Op>(x.tensor(), number);
  }
  Tensor out = empty_elementwise(a, kBool);
  backend(a).comparison.value.get<Op>()(out, x, rounded_number(b, type));
  return out;
}

}  // namespace

// The functions and the members of Tensor.
#define TANDEM_COMPARISON(f, Op)                                                              \
  Tensor f(const Tensor& self, const Tensor& other) { return compare<ops::Op>(self, other); } \
  Tensor Tensor::f(const Tensor& other) const { return tandem::f(*this, other); }
#define TANDEM_COMPARISON_BOTH(f, Op)                                                         \
  TANDEM_COMPARISON(f, Op)                                                                    \
  Tensor f(const Tensor& self, const Scalar& other) { return compare<ops::Op>(self, other); } \
  Tensor Tensor::f(const Scalar& other) const { return tandem::f(*this, other); }
TANDEM_COMPARISON_BOTH(eq, Eq)
TANDEM_COMPARISON_BOTH(ne, Ne)
TANDEM_COMPARISON_BOTH(lt, Lt)
TANDEM_COMPARISON_BOTH(le, Le)
TANDEM_COMPARISON_BOTH(gt, Gt)
TANDEM_COMPARISON_BOTH(ge, Ge)
TANDEM_COMPARISON(logical_and, LogicalAnd)
TANDEM_COMPARISON(logical_or, LogicalOr)
TANDEM_COMPARISON(logical_xor, LogicalXor)
#undef TANDEM_COMPARISON_BOTH
#undef TANDEM_COMPARISON

}  // namespace tandem
