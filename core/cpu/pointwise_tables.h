// The parts of the pointwise table. The functions of one and of two arguments are templates over the
// operation; each is instantiated in one of several sources, to spread the time to compile.
#pragma once
#include "tandem/core/backend/pointwise.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {

template <class Op>
void unary(const Tensor& out, const Tensor& in, const Scalar* parameters);
template <class Op>
void gradient(const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters);
template <class Op>
void binary(const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter);

struct UnaryMaker {
  template <class Op>
  static constexpr auto make() {
    return &unary<Op>;
  }
};
struct GradientMaker {
  template <class Op>
  static constexpr auto make() {
    return &gradient<Op>;
  }
};
struct BinaryMaker {
  template <class Op>
  static constexpr auto make() {
    return &binary<Op>;
  }
};
/// Instantiates the kernels of a list where it is used.
template <class Maker, class... Ops>
constexpr auto instantiate(TypeList<Ops...>) {
  return std::array{Maker::template make<Ops>()...};
}

extern const CompareKernels compare_kernels;
extern const TernaryKernels ternary_kernels;
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);
void copy(const Tensor& out, const Tensor& in);
void fill(const Tensor& out, const Scalar& value);

}  // namespace tandem::cpu
