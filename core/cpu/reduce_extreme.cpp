// amax, amin, any, all and norms on the CPU.
#include "tandem/core/cpu/reduce_loop.h"
#include "tandem/core/formulas/reduce_kernels.h"

namespace tandem {
template struct ExtremeMaker<cpu::ReduceLoops>;
}
