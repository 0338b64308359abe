// The number of threads for work along one dimension.
#include "tandem/cuda/line_geometry.h"

#include <algorithm>
#include <bit>

namespace tandem::cuda_impl {
namespace {
constexpr std::size_t kWarpShared = 32 << 10, kMaxShared = 48 << 10;  // bytes per block
}

RowGeometry make_row_geometry(int64_t n, int vector, int inputs, int64_t item_size) {
  RowGeometry g;
  const auto bytes = static_cast<std::size_t>(n * inputs * item_size);
  if (bytes * (kLineThreads / 32) <= kWarpShared) {
    const auto wanted = std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(1, ceil_div(n, vector))));
    g.lanes = static_cast<int>(std::min<uint64_t>(32, wanted));
    g.shared_bytes = bytes * static_cast<std::size_t>(g.rows_of_block());
  } else {
    g.lanes = kLineThreads;
    g.shared_bytes = bytes <= kMaxShared - 512 ? bytes : 0;  // reductions need a little of it
  }
  return g;
}

int column_rows(int64_t n) {
  return static_cast<int>(std::min<uint64_t>(8, std::bit_floor(static_cast<uint64_t>(std::max<int64_t>(1, n / 4)))));
}

}  // namespace tandem::cuda_impl
