// Reduction operations, for host and device. Their interface, with Sum as the example:
//
//   struct Sum {
//     using In = float; using Acc = float; using Out = float;
//     static constexpr bool kParameter = false;  // true: map(x, p) and finish(a, p) also take an entry of a tensor
//                                                // of Out shaped like the output
//     Acc identity() const; Acc map(In x) const; Acc combine(Acc a, Acc b) const; Out finish(Acc a) const;
//   };
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/arithmetic_ops.h"
#include "tandem/core/formulas/fast_exp.h"

namespace tandem::folds {

template <class T>
using Wide = std::conditional_t<std::is_floating_point_v<T>, T, int64_t>;
/// bool as a byte, 0 or 1, because compilers know how to widen bytes.
template <class T>
using AsBytes = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

template <class T>
struct Sum {
  using In = T;
  using Acc = Wide<T>;
  using Out = Acc;
  static constexpr bool kParameter = false;
  TANDEM_HD Acc identity() const { return 0; }
  TANDEM_HD Acc map(T x) const { return static_cast<Acc>(x); }
  TANDEM_HD Acc combine(Acc a, Acc b) const { return ops::wrapping_sum(a, b); }
  TANDEM_HD Out finish(Acc a) const { return a; }
};

template <class T>
struct Prod : Sum<T> {
  using Acc = Wide<T>;
  TANDEM_HD Acc identity() const { return 1; }
  TANDEM_HD Acc combine(Acc a, Acc b) const { return ops::Mul::apply(a, b); }
};

template <class T>
struct Mean : Sum<T> {
  T count;
  TANDEM_HD T finish(T a) const { return a / count; }
};

template <class T>
struct CountNonzero : Sum<int64_t> {
  using In = T;
  TANDEM_HD int64_t map(T x) const { return x != T(0); }
};

template <class T>
struct Moments {
  T sum, squares;
};
/// Sums of deviations and of their squares. `mean` is rounded, so the deviations do not add up to 0; finish()
/// subtracts what that adds to the squares, sum² / count.
template <class T>
struct SquaredDeviation {
  using In = T;
  using Acc = Moments<T>;
  using Out = T;
  static constexpr bool kParameter = true;
  T count, divisor;
  bool root;
  TANDEM_HD Acc identity() const { return {0, 0}; }
  TANDEM_HD Acc map(T x, T mean) const { return {x - mean, (x - mean) * (x - mean)}; }
  TANDEM_HD Acc combine(Acc a, Acc b) const { return {a.sum + b.sum, a.squares + b.squares}; }
  TANDEM_HD T finish(Acc a, T) const {
    const T centred = a.squares - a.sum * (a.sum / count);
    const T positive = centred < T(0) ? T(0) : centred == centred ? centred : a.squares;  // no inf - inf
    return root ? std::sqrt(positive / divisor) : positive / divisor;
  }
};

/// The shift is the largest x; where it is not finite, 0 is used instead.
template <class T>
struct LogSumExp : Sum<T> {
  static constexpr bool kParameter = true;
  TANDEM_HD static T finite(T shift) { return std::abs(shift) <= std::numeric_limits<T>::max() ? shift : T(0); }
  TANDEM_HD T map(T x, T shift) const { return fast_exp(x - finite(shift)); }
  TANDEM_HD T finish(T a, T shift) const { return math::log(a) + finite(shift); }
};

/// Orders in which NaN is the most extreme value, for max, min, argmax, …
template <class T>
struct Largest {
  /// Whether b replaces a: it is strictly larger, or it is NaN and a is not.
  TANDEM_HD static bool better(T a, T b) { return bool(b > a) | (bool(b != b) & bool(a == a)); }
  TANDEM_HD static T worst() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return -std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::lowest();
  }
};
template <class T>
struct Smallest {
  TANDEM_HD static bool better(T a, T b) { return bool(b < a) | (bool(b != b) & bool(a == a)); }
  TANDEM_HD static T worst() {
    if constexpr (std::numeric_limits<T>::has_infinity)
      return std::numeric_limits<T>::infinity();
    else
      return std::numeric_limits<T>::max();
  }
};

template <class T, template <class> class Order>
struct Extreme {
  using In = T;
  using Acc = T;
  using Out = T;
  static constexpr bool kParameter = false;
  TANDEM_HD T identity() const { return Order<T>::worst(); }
  TANDEM_HD T map(T x) const { return x; }
  TANDEM_HD T combine(T a, T b) const { return Order<T>::better(a, b) ? b : a; }
  TANDEM_HD T finish(T a) const { return a; }
};

/// any and all.
template <class T, bool kAll>
struct Truth {
  using In = T;
  using Acc = uint8_t;
  using Out = bool;
  static constexpr bool kParameter = false;
  TANDEM_HD uint8_t identity() const { return kAll; }
  TANDEM_HD uint8_t map(T x) const { return x != T(0); }
  TANDEM_HD uint8_t combine(uint8_t a, uint8_t b) const { return kAll ? a & b : a | b; }
  TANDEM_HD bool finish(uint8_t a) const { return a != 0; }
};

template <class T>
struct Norm0 : Sum<T> {
  TANDEM_HD T map(T x) const { return x != T(0) ? T(1) : T(0); }
};
template <class T>
struct Norm1 : Sum<T> {
  TANDEM_HD T map(T x) const { return std::abs(x); }
};
template <class T>
struct Norm2 : Sum<T> {
  TANDEM_HD T map(T x) const { return x * x; }
  TANDEM_HD T finish(T a) const { return std::sqrt(a); }
};
template <class T>
struct NormP : Sum<T> {
  T p;
  TANDEM_HD T map(T x) const { return math::pow(std::abs(x), p); }
  TANDEM_HD T finish(T a) const { return math::pow(a, 1 / p); }
};
template <class T, template <class> class Order>
struct NormExtreme : Extreme<T, Order> {
  TANDEM_HD T identity() const { return Order<T>::better(T(0), T(1)) ? T(0) : Order<T>::worst(); }
  TANDEM_HD T map(T x) const { return std::abs(x); }
};

/// Calls map or finish, with the parameter if R takes one.
template <class R>
TANDEM_HD inline typename R::Acc map_value(const R& r, typename R::In x, [[maybe_unused]] typename R::Out p) {
  if constexpr (R::kParameter)
    return r.map(x, p);
  else
    return r.map(x);
}
template <class R>
TANDEM_HD inline typename R::Out finish_value(const R& r, typename R::Acc a, [[maybe_unused]] typename R::Out p) {
  if constexpr (R::kParameter)
    return r.finish(a, p);
  else
    return r.finish(a);
}

}  // namespace tandem::folds
