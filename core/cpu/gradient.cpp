// Fused gradients of one-argument functions on the CPU.
#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class Op, class T>
T apply(T g, T x, T p0, T p1) {
  if constexpr (requires { Op::apply(g, x); })
    return Op::apply(g, x);
  else if constexpr (requires { Op::apply(g, x, p0); })
    return Op::apply(g, x, p0);
  else
    return Op::apply(g, x, p0, p1);
}

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Tensor& g, const Tensor& saved, const Scalar* parameters) {
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        const T p = parameters != nullptr ? parameters[0].to<T>() : T(),
                q = parameters != nullptr ? parameters[1].to<T>() : T();
        binary_typed<T, T>(out, g, saved, [p, q](T x, T y) { return apply<Op, T>(x, y, p, q); });
      });
    };
  }
};

}  // namespace

constinit const GradientKernels gradient_kernels = GradientKernels::from<Maker>();

}  // namespace tandem::cpu
