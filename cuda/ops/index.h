// Shared code of CUDA's index kernels.
#pragma once
#include "tandem/core/backend/index.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/cuda/context.h"

namespace tandem::cuda_impl {

/// Pairs of a destination (an offset in elements) and a position in the order of the index, stably sorted by
/// destination. One thread applies the writes of each destination in order.
struct SortedWrites {
  Tensor keys, positions;  ///< int64 and int32, [count]
};
/// Sorts in place, or into new tensors, and returns the sorted pair. Keys are below 2^bits.
SortedWrites sort_writes(Context& c, const SortedWrites& writes, int bits);

// The kernels of this family.
void offsets(const Tensor& out, TensorList indices, const IndexedDims& at);
void get(const Tensor& out, const Tensor& in, const Tensor& offsets);
void gather(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index);
void put(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source);
void put_add(const Tensor& out, int64_t dim, const Tensor& offsets, const Tensor& source);
void scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source);
void scatter_add(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source);
int64_t count_nonzero(const Tensor& in);
void nonzero(const Tensor& out, const Tensor& in);
void cat(const Tensor& out, TensorList parts, int64_t dim);
void triangle(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper);

}  // namespace tandem::cuda_impl
