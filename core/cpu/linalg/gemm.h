// Matrix products on raw row-major memory.
//
//   C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i]     for i < batch
//
// op(A) is m x k, op(B) is k x n, C is m x n. beta == 0 does not read C (NaN in it is ignored); alpha == 0 or
// k == 0 does not read A and B. NaN and infinity in A and B propagate. C must not overlap A or B.
// The order of sums is that of sum_order.h.
#pragma once
#include <cstdint>

#include "tandem/core/cpu/sum_order.h"

namespace tandem::cpu {

template <class T>
struct GemmArgs {
  int64_t m = 0, n = 0, k = 0;
  const T* a = nullptr;
  int64_t lda = 0;       // elements between stored rows of A: rows of op(A), or its columns if trans_a
  bool trans_a = false;  // A is stored k x m
  const T* b = nullptr;
  int64_t ldb = 0;
  bool trans_b = false;  // B is stored n x k
  T* c = nullptr;
  int64_t ldc = 0;
  T alpha = 1, beta = 0;
  const T* packed_b = nullptr;  // op(B) as pack_b wrote it; without batches
  int64_t batch = 1;            // strides between matrices in elements; 0 for A or B uses one matrix for all
  int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0;
  bool pairs = false;  // A and B hold two bfloat16 in place of each float (tile_kernel); k counts pairs
};

/// T: float, double, int64_t, int32_t, int16_t, int8_t, uint8_t (integers wrap around). Uses parallel_for.
template <class T>
void gemm(const GemmArgs<T>& args);

/// op(B) of `args` in the layout that gemm multiplies, to be packed once for several products with the same n and k.
/// T: float, double.
template <class T>
int64_t packed_b_size(int64_t n, int64_t k);
template <class T>
void pack_b(const GemmArgs<T>& args, T* to);

/// Sum of x[i] * y[i], i < n, in an order that depends only on n. The same types.
template <class T>
T dot(int64_t n, const T* x, int64_t stride_x, const T* y, int64_t stride_y);

}  // namespace tandem::cpu
