// CUDA's backend table.
#include "tandem/cuda/cards.h"
#include "tandem/cuda/tables.h"

namespace tandem {
namespace {
constinit const Backend table{
    .runtime = cuda::runtime_kernels,
    .pointwise = cuda::pointwise_kernels,
    .reduce = cuda::reduce_kernels,
    .scan = cuda::scan_kernels,
    .softmax = cuda::softmax_kernels,
    .sort = cuda::sort_kernels,
    .index = cuda::index_kernels,
    .linalg = cuda::linalg_kernels,
    .random = cuda::random_kernels,
    .conv = cuda::conv_kernels,
    .pool = cuda::pool_kernels,
    .loss = cuda::loss_kernels,
    .norm = cuda::norm_kernels,
    .optim = cuda::optim_kernels,
    .capture = cuda::capture_kernels,
    .data = cuda::data_kernels,
};
}  // namespace

const Backend* cuda_backend() {
  static const Backend* const found = cuda::device_count() > 0 ? &table : nullptr;
  return found;
}
const char* cuda_reason() { return cuda::why_none().c_str(); }
}  // namespace tandem
