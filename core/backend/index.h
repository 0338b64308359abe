// Kernels that read or write at positions given by an int64 tensor, and kernels that rearrange elements. The
// kernels check indices: an index out of range throws IndexError on the CPU.
//
// If several indices name the same element, writes and additions happen in index order, so results do not
// depend on the number of threads.
#pragma once
#include "tandem/core/backend/kernel.h"

namespace tandem {

/// The indexed dimensions of advanced indexing, for error messages and bounds checks.
struct IndexedDims {
  const char* operation;
  const int64_t* dims;     // dimension numbers, for error messages
  const int64_t* sizes;    // of those dimensions
  const int64_t* strides;  // in elements
  bool wrap;               // negative indices count from the end
};

struct IndexKernels {
  /// out[p] = Σ_k indices[k][p] strides[k]: offsets in elements. out is int64 and row-major; the indices
  /// broadcast to it.
  Kernel<"index_offsets", void(const Tensor& out, TensorList indices, const IndexedDims& at), kTakesHalf> offsets;
  /// out[p] = the element of in at p, displaced by offsets[p] elements. in and offsets broadcast to out.
  Kernel<"index", void(const Tensor& out, const Tensor& in, const Tensor& offsets), kTakesHalf> get;
  /// The element of out at p, displaced by offsets[i] elements, = source[p, i], where i is the position along
  /// `dim` of source. out has source's shape with size 1 there; offsets is 1-d.
  Kernel<"index_put", void(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source), kTakesHalf>
      put;
  /// As put, with +=.
  Kernel<"index_put_add", void(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source), kTakesHalf>
      put_add;

  /// out[i][j] = in[index[i][j]][j] for dim 0, and so on; out has the index's shape.
  Kernel<"gather", void(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index), kTakesHalf> gather;
  /// out[index[i][j]][j] = source[i][j]; source has the index's shape.
  Kernel<"scatter", void(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source), kTakesHalf>
      scatter;
  /// out[index[i][j]][j] += source[i][j]. Numeric dtypes.
  Kernel<"scatter_add", void(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source),
         HalfCalls{.updates = true}>
      scatter_add;

  Kernel<"count_nonzero", int64_t(const Tensor& in), kTakesHalf> count_nonzero;
  /// out [count, rank of in] int64: the positions of non-zero elements, in row-major order.
  Kernel<"nonzero", void(const Tensor& out, const Tensor& in), kTakesHalf> nonzero;

  /// Concatenates `parts` along `dim`. out is row-major; all have one dtype.
  Kernel<"cat", void(const Tensor& out, TensorList parts, int64_t dim), kTakesHalf> cat;
  /// Keeps elements on and below (`upper`: above) the given diagonal of the last two dimensions; others
  /// become 0.
  Kernel<"tril", void(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper), kTakesHalf> triangle;
};

}  // namespace tandem
