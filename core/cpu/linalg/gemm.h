// Matrix products on raw row-major memory.
//
//   C[i] = alpha * op(A[i]) * op(B[i]) + beta * C[i]     for i < batch
//
// op(A) is m x k, op(B) is k x n, C is m x n. beta == 0 does not read C (NaN in it is ignored); alpha == 0 or
// k == 0 does not read A and B. NaN and infinity in A and B propagate. C must not overlap A or B.
// core/formulas/sum_order.h has the order of sums.
#pragma once
#include <algorithm>
#include <cstdint>

#include "tandem/core/cpu/parallel_for_each.h"
#include "tandem/core/formulas/sum_order.h"

namespace tandem::cpu {

/// T are the elements, A the factors.
template <class T, class A = T>
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
  A alpha = 1, beta = 0;
  const T* packed_b = nullptr;  // op(B) as pack_b wrote it; without batches
  int64_t batch = 1;            // strides between matrices in elements; 0 for A or B uses one matrix for all
  int64_t batch_stride_a = 0, batch_stride_b = 0, batch_stride_c = 0;
  bool pairs = false;  // A and B hold two bfloat16 in place of each float (tile_kernel); k counts pairs
};

inline constexpr int64_t kInlineWork = 48 * 48 * 48;  ///< multiplications not worth waking a thread for

/// Calls one(args) for every product of a batch.
template <class Args, class One>
void for_batch(const Args& args, One one) {
  if (args.batch == 1) return one(args);
  const int64_t work = std::max<int64_t>(1, args.m * args.n * args.k);
  const int64_t grain = args.batch < 8 ? args.batch : std::max<int64_t>(1, kInlineWork / work);
  parallel_for(args.batch, grain, [&](int64_t begin, int64_t end) {
    Args single = args;
    single.batch = 1;
    for (int64_t i = begin; i < end; ++i) {
      single.a = args.a + i * args.batch_stride_a;
      single.b = args.b + i * args.batch_stride_b;
      single.c = args.c + i * args.batch_stride_c;
      one(single);
    }
  });
}

/// T: float, double, int64_t, int32_t, int16_t, int8_t, uint8_t (integers wrap around). Uses parallel_for.
template <class T>
void gemm(const GemmArgs<T>& args);

/// op(B) of `args` in the layout that gemm multiplies, to be packed once for several products with the same n and k.
/// T: float, double.
template <class T>
int64_t packed_b_size(int64_t n, int64_t k);
template <class T>
void pack_b(const GemmArgs<T>& args, T* to);

}  // namespace tandem::cpu
