// Products of half types on the tensor cores, by whole warps, copies to shared memory in the background, and powers of two
// (NVIDIA: PTX ISA, mma.m16n8k16, ldmatrix, cp.async, ex2; from sm_80 on). An emulation of the device provides a replacement.
//
// Lane l has g = l / 4 and t = l % 4. Of a 16 x 16 matrix a it holds the pairs of columns a[0]: (g, 2t), a[1]: (g + 8, 2t),
// a[2]: (g, 2t + 8), a[3]: (g + 8, 2t + 8); of a 16 x 8 matrix b the pairs of rows b[0]: (2t, g), b[1]: (2t + 8, g); of a
// 16 x 8 matrix d of floats d[0], d[1]: (g, 2t), (g, 2t + 1) and d[2], d[3]: the same of row g + 8.
#pragma once
#include <cuda_runtime.h>

#include <cstdint>
#include <type_traits>

#include "tandem/core/half.h"

namespace tandem::cuda_impl {

/// 2^x within 2 units in the last place; 0 where it is subnormal.
__device__ inline float fast_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

/// Two numbers rounded to S, the first one in the lower half.
template <class S>
__device__ inline uint32_t rounded_pair(float first, float second) {
  uint32_t pair;
  if constexpr (std::is_same_v<S, Half>)
    asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  else
    asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(pair) : "f"(second), "f"(first));
  return pair;
}

/// d += a b.
template <class S>
__device__ inline void multiply_tiles(float (&d)[4], const uint32_t (&a)[4], uint32_t b0, uint32_t b1) {
  if constexpr (std::is_same_v<S, Half>)
    asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
  else
    asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// Four 8 x 8 matrices from shared memory: lane l gives the address of row l % 8, 16 bytes, of matrix l / 8, and gets the
/// pair of columns (g, 2t) of each, or of each transposed.
template <bool transposed>
__device__ inline void load_matrices(uint32_t (&to)[4], const void* row) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(row));
  if constexpr (transposed)
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
  else
    asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                 : "=r"(to[0]), "=r"(to[1]), "=r"(to[2]), "=r"(to[3])
                 : "r"(address)
                 : "memory");
}

/// Starts to copy 16 bytes, both addresses multiples of 16, or zeros if not `real`. They are there for the thread after
/// finish_copies(), and for others after a barrier behind it.
__device__ inline void start_copy(void* to, const void* from, bool real) {
  const auto address = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(address), "l"(from), "r"(real ? 16 : 0)
               : "memory");
}
__device__ inline void finish_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

}  // namespace tandem::cuda_impl
