// amax, amin, any, all and norms on CUDA.
#include "tandem/cuda/device.h"

#include "tandem/core/formulas/reduce_kernels.h"
#include "tandem/cuda/ops/reduce_loop.h"

namespace tandem {
template struct ExtremeMaker<cuda_impl::ReduceLoops>;
}
