// Applies elementwise operations with the parameters they take. Called by the loops of both backends.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/value.h"

namespace tandem::ops {

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

}  // namespace tandem::ops
