// Elementwise functions of two arguments on the CPU.
#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class Op, class T>
T apply(T a, T b, T p) {
  if constexpr (requires { Op::apply(a, b); })
    return Op::apply(a, b);
  else
    return Op::apply(a, b, p);
}

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b, const Scalar& parameter) {
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const T p = parameter.to<T>();
        binary_typed<T, T>(out, a, b, [p](T x, T y) { return apply<Op, T>(x, y, p); });
      });
    };
  }
};

}  // namespace

constinit const BinaryKernels binary_kernels = BinaryKernels::from<Maker>();

}  // namespace tandem::cpu
