// Matrix products of float16 and bfloat16 with float32 sums. An element of the result is rounded once.
#pragma once
#include <cstdint>

#include "tandem/core/dtype.h"

namespace tandem::cpu {

/// C[i] = alpha op(A[i]) op(B[i]) + beta C[i], with the meanings of GemmArgs (gemm.h); `type` is kHalf or kBFloat16.
struct HalfGemmArgs {
  ScalarType type = kBFloat16;
  int64_t m = 0, n = 0, k = 0;
  const uint16_t* a = nullptr;
  int64_t lda = 0;
  bool trans_a = false;
  const uint16_t* b = nullptr;
  int64_t ldb = 0;
  bool trans_b = false;
  uint16_t* c = nullptr;
  int64_t ldc = 0;
  float alpha = 1, beta = 0;
  int64_t batch = 1;
  int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0;
};

/// bfloat16 is multiplied in pairs where the processor does so (microkernel.h), twice as fast as float32, with subnormal
/// numbers as 0; otherwise both types are converted to float32 as they are packed. The bits depend on which of the two, on
/// the shape and on the arguments, never on the number of threads.
void half_gemm(const HalfGemmArgs& args);

}  // namespace tandem::cpu
