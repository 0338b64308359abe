// Kernels of float32 called with float16 or bfloat16: inputs are converted to float32, and every output is rounded
// once, to nearest even. Sums are therefore accumulated in float32.
// A call without such tensors costs one test per argument.
#pragma once
#include <type_traits>
#include <utility>
#include <vector>

#include "tandem/core/scalar.h"
#include "tandem/core/tensor.h"

namespace tandem {

/// How a kernel is called with float16 or bfloat16.
struct HalfCalls {
  int outputs = 1;       ///< the kernel writes so many tensors or lists, its first ones
  bool updates = false;  ///< it also reads them
  bool native = false;   ///< it takes the half types itself
};
inline constexpr HalfCalls kTakesHalf{.native = true};

/// The dtype that kernels compute a dtype in: float32 for the half types.
constexpr ScalarType computed_type(ScalarType type) { return isReducedFloatingType(type) ? kFloat : type; }
/// The types that kernels of numbers with a fraction store.
using StoredFloats = TypeList<float, double, Half, BFloat16>;

/// A tensor, or a number in place of a tensor.
struct Operand {
  const Tensor* tensor = nullptr;
  Scalar scalar;
  Operand(const Tensor& t) : tensor(&t) {}
  Operand(const Scalar& s) : scalar(s) {}
};

namespace detail {

inline bool is_half(const Tensor& t) { return t.defined() && isReducedFloatingType(t.scalar_type()); }
inline bool is_half(TensorList list) {
  for (const Tensor& t : list)
    if (is_half(t)) return true;
  return false;
}

/// A float32 tensor with the shape of t. Its strides are those of t if t is dense, apart from repeated dimensions;
/// otherwise it is row-major. Without `values` its elements are uninitialised.
Tensor float_copy(const Tensor& t, bool values);

/// The tensor, or a float32 copy if it has a half type; undefined if t is.
inline Tensor computed(const Tensor& t) { return is_half(t) ? float_copy(t, true) : t; }

/// An argument of a kernel: itself, or with float32 instead of half types. `store` rounds into the original what the
/// kernel has written.
template <class Arg>
struct FloatArgument {
  static bool needed(const std::remove_cvref_t<Arg>&) { return false; }
  FloatArgument(const std::remove_cvref_t<Arg>& arg, bool, bool) : value(arg) {}
  void store() const {}
  const std::remove_cvref_t<Arg>& value;
};
template <>
struct FloatArgument<const Tensor&> {
  static bool needed(const Tensor& t) { return is_half(t); }
  FloatArgument(const Tensor& t, bool written, bool read)
      : original(written && is_half(t) ? &t : nullptr), value(is_half(t) ? float_copy(t, !written || read) : t) {}
  void store() const {
    if (original != nullptr) copy_raw(*original, value);
  }
  const Tensor* original;
  Tensor value;
};
template <>
struct FloatArgument<const Operand&> {
  static bool needed(const Operand& operand) { return operand.tensor != nullptr && is_half(*operand.tensor); }
  FloatArgument(const Operand& operand, bool, bool)
      : tensor(needed(operand) ? float_copy(*operand.tensor, true) : Tensor()),
        value(tensor.defined() ? Operand(tensor) : operand) {}
  FloatArgument(const FloatArgument&) = delete;
  void store() const {}
  Tensor tensor;
  Operand value;
};
template <>
struct FloatArgument<TensorList> {
  static bool needed(TensorList list) { return is_half(list); }
  FloatArgument(TensorList list, bool written, bool read);
  FloatArgument(const FloatArgument&) = delete;
  void store() const;
  TensorList original;
  std::vector<Tensor> tensors;
  TensorList value;
};

template <class R, class... Args>
R call_converted(R (*function)(Args...), const FloatArgument<Args>&... args) {
  if constexpr (std::is_void_v<R>) {
    function(args.value...);
    (args.store(), ...);
  } else {
    R result = function(args.value...);
    (args.store(), ...);
    return result;
  }
}
/// Calls a kernel, some of whose arguments have a half type.
template <class R, class... Args>
R call_in_float(R (*function)(Args...), HalfCalls rule, const std::remove_cvref_t<Args>&... args) {
  const auto call = [&]<int... at>(std::integer_sequence<int, at...>)->R {
    return call_converted<R, Args...>(function, FloatArgument<Args>(args, at < rule.outputs, rule.updates)...);
  };
  return call(std::make_integer_sequence<int, static_cast<int>(sizeof...(Args))>());
}

}  // namespace detail
}  // namespace tandem
