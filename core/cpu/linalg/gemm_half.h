// Matrix products of float16 and bfloat16 with float32 sums. An element of the result is rounded once.
#pragma once
#include "tandem/core/cpu/linalg/gemm.h"
#include "tandem/core/dtype.h"

namespace tandem::cpu {

struct HalfGemmArgs : GemmArgs<uint16_t, float> {
  ScalarType type = kBFloat16;  // or kHalf
};

/// bfloat16 is multiplied in pairs where the processor does so (microkernel.h), twice as fast as float32, with subnormal
/// numbers as 0; otherwise both types are converted to float32 as they are packed. The bits depend on which of the two, on
/// the shape and on the arguments, never on the number of threads.
void half_gemm(const HalfGemmArgs& args);

}  // namespace tandem::cpu
