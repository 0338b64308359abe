// Building blocks of derivatives, and the calls of operations with the parameters that they take. Each derivative is
// one template for float, double and Tensor, which the fused kernels and create_graph share. For a Tensor, functions
// such as exp and where are found in its namespace.
#pragma once
#include <type_traits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math_angles.h"

namespace tandem::ops {

/// The type of a constant or parameter in a formula over V: V itself for numbers, double for Tensor.
template <class V>
using Number = std::conditional_t<std::is_arithmetic_v<V>, V, double>;

/// condition ? a : b for numbers, where(condition, a, b) for tensors. Both values are computed. Combine conditions
/// with & and |, which work for numbers and tensors.
template <class C, class A, class B>
TANDEM_HD inline auto select(const C& condition, const A& a, const B& b) {
  if constexpr (std::is_arithmetic_v<C>)
    return condition ? a : b;
  else
    return where(condition, a, b);
}

/// Op(x) with none, one or both of the parameters.
template <class Op, class T>
TANDEM_HD inline T apply_unary(T x, T p, T q) {
  if constexpr (requires { Op::apply(x); })
    return Op::apply(x);
  else if constexpr (requires { Op::apply(x, p); })
    return Op::apply(x, p);
  else
    return Op::apply(x, p, q);
}
/// g times the derivative of Op, from what its forward saved; V is a number or Tensor.
template <class Op, class V>
TANDEM_HD inline V apply_gradient(const V& g, const V& saved, Number<V> p, Number<V> q) {
  if constexpr (requires { Op::gradient(g); })
    return Op::gradient(g);
  else if constexpr (requires { Op::gradient(g, saved); })
    return Op::gradient(g, saved);
  else if constexpr (requires { Op::gradient(g, saved, p); })
    return Op::gradient(g, saved, p);
  else
    return Op::gradient(g, saved, p, q);
}
/// Op(a, b) with or without the parameter.
template <class Op, class T>
TANDEM_HD inline auto apply_binary(T a, T b, T p) {
  if constexpr (requires { Op::apply(a, b); })
    return Op::apply(a, b);
  else
    return Op::apply(a, b, p);
}

/// x limited to [low, high]. NaN stays NaN, also in the derivatives, where clamp() has 0.
template <class V>
TANDEM_HD inline V limit(const V& x, Number<V> low, Number<V> high) {
  if constexpr (std::is_arithmetic_v<V>) {
    return math::limit(x, low, high);
  } else {
    const V y = select(x < low, low, x);
    return select(y > high, high, y);
  }
}

using math::abs, math::cos, math::cosh, math::erfc, math::exp, math::log1p, math::sigmoid, math::sign, math::sin,
    math::sinh, math::sqrt, math::tanh;

}  // namespace tandem::ops
