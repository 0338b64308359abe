// Building blocks of derivatives. Each derivative is one template for float, double and Tensor, which the fused
// kernels and create_graph share. For a Tensor, functions such as exp and where are found in its namespace.
#pragma once
#include <type_traits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/math_angles.h"

namespace tandem::ops {

/// What the forward saves for gradient(), which takes it as its second argument.
enum class Saves { kNothing, kInput, kOutput };

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

/// x limited to [low, high]. NaN stays NaN, in the derivatives too, where that of clamp() would be 0.
template <class V>
TANDEM_HD inline V limit(const V& x, Number<V> low, Number<V> high) {
  if constexpr (std::is_arithmetic_v<V>) {
    return math::limit(x, low, high);
  } else {
    const V y = select(x < low, low, x);
    return select(y > high, high, y);
  }
}

using math::abs;
using math::cos;
using math::cosh;
using math::erfc;
using math::exp;
using math::log1p;
using math::sigmoid;
using math::sign;
using math::sin;
using math::sinh;
using math::sqrt;
using math::tanh;

}  // namespace tandem::ops
