// Elementwise binary operations that return bool. Both arguments have the same computed type.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/element_types.h"

namespace tandem::ops {

struct Eq {
  static constexpr const char* name = "eq";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a == b;
  }
};
struct Ne {
  static constexpr const char* name = "ne";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a != b;
  }
};
struct Lt {
  static constexpr const char* name = "lt";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return a < b;
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
struct LogicalAnd {
  static constexpr const char* name = "logical_and";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a != T(0)) & (b != T(0));
  }
};
struct LogicalOr {
  static constexpr const char* name = "logical_or";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a != T(0)) | (b != T(0));
  }
};
struct LogicalXor {
  static constexpr const char* name = "logical_xor";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a != T(0)) != (b != T(0));
  }
};
/// For b = infinity: a is neither NaN nor infinite.
struct AbsLt {
  static constexpr const char* name = "isfinite";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a < b) & (a > static_cast<T>(-b));
  }
};
/// a is b or -b.
struct AbsEq {
  static constexpr const char* name = "isinf";
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a == b) | (a == static_cast<T>(-b));
  }
};

}  // namespace tandem::ops
