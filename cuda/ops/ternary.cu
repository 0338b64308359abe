// Elementwise functions of three arguments on CUDA devices.
#include "tandem/core/formulas/ternary_ops.h"

#include "tandem/core/backend/ternary.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);  // where.cu

namespace {

template <class Op, class T>
struct Ternary {
  using In = T;
  using Out = T;
  T p;
  __device__ T operator()(T a, T b, T c) const { return Op::apply(a, b, c, p); }
};

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b, const Operand& c,
               const Scalar& parameter) {
      dispatch(out.dtype(), typename Op::Types{}, Op::name, [&]<class T>(Type<T>) {
        elementwise(Op::name, Ternary<Op, T>{parameter.to<T>()}, out, {&a, &b, &c});
      });
    };
  }
};

}  // namespace

constinit const TernaryKernels ternary_kernels{.value = decltype(TernaryKernels::value)::from<Maker>(),
                                               .where = where};

}  // namespace tandem::cuda_impl
