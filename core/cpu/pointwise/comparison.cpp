// Comparisons on the CPU: arguments of any compute dtype, bool output.
#include "tandem/core/formulas/compare_ops.h"

#include "tandem/core/backend/elementwise_kernels.h"
#include "tandem/core/cpu/pointwise/binary_loop.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

struct ComparisonLoops {
  template <class Op, class T>
  static void value(const Tensor& out, const Operand& a, const Operand& b) {
    elementwise(out, {a, b}, (a.tensor != nullptr ? a : b).tensor->dtype(), binary_loop<Op, bool, T>);
  }
};

}  // namespace

constinit const ComparisonKernels comparison_kernels{
    .value = decltype(ComparisonKernels::value)::from<ComparisonMaker<ComparisonLoops>>(kTakesHalf)};

}  // namespace tandem::cpu
