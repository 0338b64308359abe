// Conversion between the half types and float32, vectorised.
#pragma once
#include "tandem/core/dtype.h"

namespace tandem::cpu {

/// n elements of `type` (float16 or bfloat16) to float32.
void widen(ScalarType type, float* to, const void* from, int64_t n);
/// n elements of float32 to `type`, rounded to nearest even.
void narrow(ScalarType type, void* to, const float* from, int64_t n);

}  // namespace tandem::cpu
