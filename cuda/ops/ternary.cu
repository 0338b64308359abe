// Elementwise functions of three arguments on CUDA devices.
#include "tandem/core/formulas/ternary_ops.h"

#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
void where(const Tensor& out, const Tensor& condition, const Operand& a, const Operand& b);  // where.cu

namespace {

struct TernaryLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b, const Operand& c, T p) {
    elementwise(Op::name, Ternary<Op, T>{p}, out, {&a, &b, &c});
  }
};

}  // namespace

constinit const TernaryKernels ternary_kernels{
    .value = decltype(TernaryKernels::value)::from<TernaryMaker<TernaryLoops>>(kTakesHalf), .where = where};

}  // namespace tandem::cuda_impl
