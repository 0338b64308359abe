// CPU kernels of the special functions.
#include "tandem/core/backend/special.h"

#include "tandem/core/cpu/pointwise/binary_loop.h"
#include "tandem/core/cpu/pointwise/unary_loop.h"
#include "tandem/core/cpu/tables.h"
#include "tandem/core/formulas/bessel_ops.h"
#include "tandem/core/formulas/special_ops.h"

namespace tandem::cpu {
constinit const SpecialKernels special_kernels{
    .unary = decltype(SpecialKernels::unary)::from<UnaryMaker<UnaryLoops>>(kTakesHalf),
    .binary = decltype(SpecialKernels::binary)::from<BinaryMaker<BinaryLoops>>(kTakesHalf),
};
}  // namespace tandem::cpu
