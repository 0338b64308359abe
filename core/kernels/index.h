// Kernels that read or write at positions given by an int64 tensor. Indices are checked by the kernel: out of
// range throws IndexError on the CPU.
#pragma once
#include "tandem/core/kernels/kernel.h"

namespace tandem {

struct IndexKernels {
  /// out[…, index[i], …] += alpha source[…, i, …] along `dim`, in the order of i. out and source of one
  /// numeric dtype.
  Kernel<void(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source, const Scalar& alpha)>
      index_add;
  /// out[…, i, …] = in[…, index[i], …] along `dim`. One dtype, any.
  Kernel<void(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index)> index_select;
};

}  // namespace tandem
