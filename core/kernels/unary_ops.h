// Elementwise functions of one argument, for host and device. A backend instantiates UnaryOps for each op's
// Types. An op with parameters takes them behind x, converted to T.
#pragma once
#include <cmath>

#include "tandem/core/host_device.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::ops {

struct Neg {
  static constexpr const char* name = "neg";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return static_cast<T>(-x);
  }
};
struct Exp {
  static constexpr const char* name = "exp";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return std::exp(x);
  }
};
/// max(x, 0); NaN stays.
struct Relu {
  static constexpr const char* name = "relu";
  using Types = NumericTypes;
  template <class T>
  TANDEM_HD static T apply(T x) {
    return x < T(0) ? T(0) : x;
  }
};

}  // namespace tandem::ops

namespace tandem {
using UnaryOps = TypeList<ops::Neg, ops::Exp, ops::Relu>;
}  // namespace tandem
