// The common part of elementwise kernels on all backends: they choose the element type, float for the half types, and
// convert the parameters to it. The loops over the elements are the backend's own.
#pragma once
#include <array>

#include "tandem/core/backend/binary.h"
#include "tandem/core/backend/comparison.h"
#include "tandem/core/backend/ternary.h"
#include "tandem/core/backend/unary.h"

namespace tandem {
namespace detail {
/// The two parameters of a unary operation; zeros for an operation without parameters.
template <class T>
std::array<T, 2> unary_parameters(const Scalar* parameters) {
  if (parameters == nullptr) return {};
  return {parameters[0].to<T>(), parameters[1].to<T>()};
}
}  // namespace detail

template <class Loops>
template <class Op>
void UnaryMaker<Loops>::kernel(const Tensor& out, const Tensor& in, const Scalar* parameters) {
  dispatch(computed_type(in.dtype()), typename Op::Types{}, Op::name,
           [&]<class T>(Type<T>) { Loops::template value<Op, T>(out, in, detail::unary_parameters<T>(parameters)); });
}

template <class Loops>
template <class Op>
void GradientMaker<Loops>::kernel(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters) {
  dispatch(computed_type(out.dtype()), FloatTypes{}, Op::name, [&]<class T>(Type<T>) {
    Loops::template gradient<Op, T>(out, g, saved, detail::unary_parameters<T>(parameters));
  });
}

template <class Loops>
template <class Op>
void BinaryMaker<Loops>::kernel(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter) {
  dispatch(computed_type(out.dtype()), typename Op::Types{}, Op::name,
           [&]<class T>(Type<T>) { Loops::template value<Op, T>(out, a, b, parameter.to<T>()); });
}

/// Loops::value<Op, T>(out, a, b, c, parameter) computes the elements.
template <class Loops>
struct TernaryMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Operand& a, const Operand& b, const Operand& c, const Scalar& parameter) {
    dispatch(computed_type(out.dtype()), typename Op::Types{}, Op::name,
             [&]<class T>(Type<T>) { Loops::template value<Op, T>(out, a, b, c, parameter.to<T>()); });
  }
};

/// Loops::value<Op, T>(out, a, b) compares the elements, which are T.
template <class Loops>
struct ComparisonMaker {
  template <class Op>
  static void kernel(const Tensor& out, const Operand& a, const Operand& b) {
    dispatch(computed_type((a.tensor != nullptr ? a : b).tensor->dtype()), typename Op::Types{}, Op::name,
             [&]<class T>(Type<T>) { Loops::template value<Op, T>(out, a, b); });
  }
};

}  // namespace tandem
