// Comparisons on CUDA devices: arguments of any compute dtype, bool output.
#include "tandem/core/formulas/compare_ops.h"

#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/cuda/device.h"
#include "tandem/cuda/elementwise.h"
#include "tandem/cuda/functors.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
namespace {

struct ComparisonLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b) {
    elementwise(Op::name, Compare<Op, T>{}, out, {&a, &b});
  }
};

}  // namespace

constinit const ComparisonKernels comparison_kernels{
    .value = decltype(ComparisonKernels::value)::from<ComparisonMaker<ComparisonLoops>>(kTakesHalf)};

}  // namespace tandem::cuda_impl
