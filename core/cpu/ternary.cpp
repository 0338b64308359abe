// Elementwise functions of three arguments on the CPU.
#include "tandem/core/kernels/ternary_ops.h"

#include "tandem/core/cpu/blocks.h"
#include "tandem/core/cpu/pointwise_tables.h"

namespace tandem::cpu {
namespace {

template <class Op, class T>
void ternary_loop(T* out, const std::array<const T*, 3>& in, int64_t n, T p, T) {
  const T *a = in[0], *b = in[1], *c = in[2];
  for (int64_t i = 0; i < n; ++i) out[i] = Op::apply(a[i], b[i], c[i], p);
}

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b, const Operand& c,
               const Scalar& parameter) {
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        elementwise<T, T, 3>(out, {a, b, c}, ternary_loop<Op, T>, parameter.to<T>());
      });
    };
  }
};

}  // namespace

constinit const TernaryKernels ternary_kernels = TernaryKernels::from<Maker>();

}  // namespace tandem::cpu
