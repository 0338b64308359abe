// Kernels that read or write at positions given by an int64 tensor, and those that rearrange. Indices are
// checked by the kernel: out of range throws IndexError on the CPU.
//
// Where several indices name one element, writes and additions happen in the order of the index: results do
// not depend on threads.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

/// Advanced indexing over several dimensions, for texts and bounds.
struct IndexedDims {
  const char* operation;
  const int64_t* dims;     // numbers for the error text
  const int64_t* sizes;    // of those dimensions
  const int64_t* strides;  // elements
  bool wrap;               // negative indices count from the end
};

struct IndexKernels {
  /// out[p] = Σ_k indices[k][p] strides[k]: offsets in elements. out int64, row-major; the indices broadcast
  /// to it.
  Kernel<"index_offsets", void(const Tensor& out, TensorList indices, const IndexedDims& at)> offsets;
  /// out[p] = in[p], displaced by offsets[p] elements. in and offsets broadcast to out.
  Kernel<"index", void(const Tensor& out, const Tensor& in, const Tensor& offsets)> get;
  /// out[p], displaced by offsets[i] elements, = source[p, i], i the position along `dim` of source. out has
  /// source's shape with size 1 there; offsets is a row.
  Kernel<"index_put", void(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source)> put;
  /// The same with +=.
  Kernel<"index_put_add", void(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source)>
      put_add;

  /// out[i][j] = in[index[i][j]][j] for dim 0, and so on; out has the index's shape.
  Kernel<"gather", void(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index)> gather;
  /// out[index[i][j]][j] = source[i][j]; source has the index's shape.
  Kernel<"scatter", void(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source)> scatter;
  /// out[index[i][j]][j] += source[i][j]. Numeric dtypes.
  Kernel<"scatter_add", void(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source)>
      scatter_add;

  Kernel<"count_nonzero", int64_t(const Tensor& in)> count_nonzero;
  /// out [count, rank of in] int64: the positions of elements that are not 0, in row-major order.
  Kernel<"nonzero", void(const Tensor& out, const Tensor& in)> nonzero;

  /// Side by side along `dim`; out is row-major, all of one dtype.
  Kernel<"cat", void(const Tensor& out, TensorList parts, int64_t dim)> cat;
  /// Elements on and below (`upper`: above) diagonal number `diagonal` of the last two dimensions, else 0.
  Kernel<"tril", void(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper)> triangle;
};

}  // namespace tandem
