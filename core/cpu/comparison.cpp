// Comparisons on the CPU: arguments of any compute dtype, bool output.
#include "tandem/core/formulas/compare_ops.h"

#include "tandem/core/backend/comparison.h"
#include "tandem/core/cpu/binary_loop.h"
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
namespace {

struct Maker {
  template <class Op>
  static constexpr auto make() {
    return +[](const Tensor& out, const Operand& a, const Operand& b) {
      const ScalarType type = a.tensor != nullptr ? a.tensor->dtype() : b.tensor->dtype();
      dispatch(type, ComputedTypes{}, Op::name, [&]<class T>(Type<T>) {
        elementwise(out, {a, b}, type, binary_loop<Op, bool, T>);
      });
    };
  }
};

}  // namespace

constinit const ComparisonKernels comparison_kernels{.value =
                                                         decltype(ComparisonKernels::value)::from<Maker>()};

}  // namespace tandem::cpu
