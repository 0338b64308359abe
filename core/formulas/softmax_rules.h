// Softmax and log-softmax, forward and backward, for host and device: a rule sums a term of each element of a line, in a
// fixed order (core/cpu/softmax.cpp), and then maps every element.
//
// x: the input, or the gradient of the output; y: the output, for the gradients. kShifted: x is reduced by the line's
// maximum. kKept: the terms are mapped instead of x, which the CPU keeps in the output.
#pragma once
#include "tandem/core/base/host_device.h"
#include "tandem/core/formulas/fast_exp.h"

namespace tandem::softmax_rules {

/// Elements of a row that are summed in lanes before they are added to the total.
inline constexpr int64_t kBlock = 4096;
/// The lanes in which a block is summed; the elements after the last whole group are added one after the other.
template <class T>
inline constexpr int kLanes = sizeof(T) == 4 ? 32 : 16;

/// For maxima; NaN is larger than any number.
template <class T>
TANDEM_HD inline T larger(T a, T b) {
  return (bool(b > a) | bool(b != b)) ? b : a;
}

template <class T>
struct Softmax {
  static constexpr const char* name = "softmax";
  static constexpr bool kShifted = true, kKept = true;
  TANDEM_HD static T term(T x, T) { return fast_exp(x); }
  TANDEM_HD static T total(T sum) { return T(1) / sum; }
  TANDEM_HD static T map(T e, T, T scale) { return e * scale; }
};

template <class T>
struct LogSoftmax : Softmax<T> {
  static constexpr const char* name = "log_softmax";
  static constexpr bool kKept = false;
  TANDEM_HD static T total(T sum) { return math::log(sum); }
  TANDEM_HD static T map(T x, T, T log_sum) { return x - log_sum; }
};

template <class T>
struct SoftmaxBackward {
  static constexpr const char* name = "softmax_backward";
  static constexpr bool kShifted = false, kKept = false;
  TANDEM_HD static T term(T g, T y) { return g * y; }
  TANDEM_HD static T total(T sum) { return sum; }
  TANDEM_HD static T map(T g, T y, T sum) { return y * (g - sum); }
};

template <class T>
struct LogSoftmaxBackward : SoftmaxBackward<T> {
  static constexpr const char* name = "log_softmax_backward";
  TANDEM_HD static T term(T g, T) { return g; }
  TANDEM_HD static T map(T g, T y, T sum) { return g - fast_exp(y) * sum; }
};

}  // namespace tandem::softmax_rules
