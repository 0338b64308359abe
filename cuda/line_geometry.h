// How kernels that work along one dimension map to threads; depends only on sizes.
#pragma once
#include "tandem/core/line_split.h"
#include "tandem/cuda/fast_divide.h"
#include "tandem/cuda/line_threads.h"

namespace tandem::cuda_impl {

/// Rows (inner == 1): `lanes` threads, a power of two, share one row.
struct RowGeometry {
  int lanes = 1;
  std::size_t shared_bytes = 0;  ///< space for a copy of the block's rows, if it fits
  bool cached() const { return shared_bytes > 0; }
  int rows_of_block() const { return kLineThreads / lanes; }
};
/// For `inputs` rows of n elements each; a thread accesses `vector` elements at once.
RowGeometry make_row_geometry(int64_t n, int vector, int inputs, int64_t item_size);

/// Columns (inner > 1): a block processes kLineThreads / rows neighbouring lines with `rows` threads each.
int column_rows(int64_t n);

}  // namespace tandem::cuda_impl
