// Elementwise binary operations that return bool. Both arguments have the same computed type.
#pragma once
#include "tandem/core/formulas/elementwise.h"

namespace tandem::ops {

struct Eq : Elementwise<"eq", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a == b; }
};
struct Ne : Elementwise<"ne", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a != b; }
};
struct Lt : Elementwise<"lt", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a < b; }
};
struct Le : Elementwise<"le", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a <= b; }
};
struct Gt : Elementwise<"gt", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a > b; }
};
struct Ge : Elementwise<"ge", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return a >= b; }
};
struct LogicalAnd : Elementwise<"logical_and", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return (a != 0) & (b != 0); }
};
struct LogicalOr : Elementwise<"logical_or", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return (a != 0) | (b != 0); }
};
struct LogicalXor : Elementwise<"logical_xor", ComputedTypes> {
  TANDEM_HD static bool apply(auto a, auto b) { return (a != 0) != (b != 0); }
};
/// For b = infinity: a is neither NaN nor infinite.
struct AbsLt : Elementwise<"isfinite", ComputedTypes> {
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a < b) & (a > static_cast<T>(-b));
  }
};
/// a is b or -b.
struct AbsEq : Elementwise<"isinf", ComputedTypes> {
  template <class T>
  TANDEM_HD static bool apply(T a, T b) {
    return (a == b) | (a == static_cast<T>(-b));
  }
};

}  // namespace tandem::ops
