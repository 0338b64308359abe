// Elementwise functions of two arguments, for host and device; both have the output's type. A third one, `p`,
// is a parameter of the call (alpha of add).
#pragma once
#include <cmath>

#include "tandem/core/host_device.h"
#include "tandem/core/kernels/kernel.h"

namespace tandem::ops {

/// a + p b
struct Add {
  static constexpr const char* name = "add";
  using Types = ComputedTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b, T p) {
    if constexpr (std::is_same_v<T, bool>)
      return a || (p && b);
    else
      return static_cast<T>(a + p * b);
  }
};
struct Mul {
  static constexpr const char* name = "mul";
  using Types = ComputedTypes;
  template <class T>
  TANDEM_HD static T apply(T a, T b) {
    if constexpr (std::is_same_v<T, bool>)
      return a && b;
    else
      return static_cast<T>(a * b);
  }
};
/// Gradient of relu: g where its output (or input) is positive, else 0.
struct ReluBackward {
  static constexpr const char* name = "relu_backward";
  using Types = FloatTypes;
  template <class T>
  TANDEM_HD static T apply(T g, T y) {
    return y > T(0) ? g : T(0);
  }
};

struct Eq {
  static constexpr const char* name = "eq";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a == b;
  }
};
struct Lt {
  static constexpr const char* name = "lt";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a < b;
  }
};
struct Ne {
  static constexpr const char* name = "ne";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a != b;
  }
};
struct Le {
  static constexpr const char* name = "le";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a <= b;
  }
};
struct Gt {
  static constexpr const char* name = "gt";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a > b;
  }
};
struct Ge {
  static constexpr const char* name = "ge";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a >= b;
  }
};

}  // namespace tandem::ops

namespace tandem {
using BinaryOps = TypeList<ops::Add, ops::Mul, ops::ReluBackward>;
/// Both arguments of one type, the output bool.
using CompareOps = TypeList<ops::Eq, ops::Ne, ops::Lt, ops::Le, ops::Gt, ops::Ge>;
}  // namespace tandem
