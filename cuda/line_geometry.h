// How kernels that work along one dimension are laid over threads: by sizes alone.
#pragma once
#include "tandem/core/line_split.h"
#include "tandem/cuda/fast_divide.h"

namespace tandem::cuda_impl {

inline constexpr int kLineThreads = 256;

/// Rows (inner == 1): `lanes` threads, a power of two, work on one row.
struct RowGeometry {
  int lanes = 1;
  std::size_t shared_bytes = 0;  ///< a copy of the rows that a block works on, where there is room
  bool cached() const { return shared_bytes > 0; }
  int rows_of_block() const { return kLineThreads / lanes; }
};
/// `inputs` rows of n elements each; a thread takes `vector` elements at once.
RowGeometry make_row_geometry(int64_t n, int vector, int inputs, int64_t item_size);

/// Columns (inner > 1): a block works on kLineThreads / rows neighbouring lines, `rows` threads on each.
int column_rows(int64_t n);

}  // namespace tandem::cuda_impl
