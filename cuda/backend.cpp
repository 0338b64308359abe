// CUDA's backend table.
#include "tandem/cuda/gpus.h"
#include "tandem/cuda/tables.h"

namespace tandem {
namespace {
constinit const Backend table{
    .runtime = cuda_impl::runtime_kernels,
    .unary = cuda_impl::unary_kernels,
    .binary = cuda_impl::binary_kernels,
    .comparison = cuda_impl::comparison_kernels,
    .ternary = cuda_impl::ternary_kernels,
    .copy = cuda_impl::copy_kernels,
    .reduce = cuda_impl::reduce_kernels,
    .scan = cuda_impl::scan_kernels,
    .softmax = cuda_impl::softmax_kernels,
    .sort = cuda_impl::sort_kernels,
    .index = cuda_impl::index_kernels,
    .linalg = cuda_impl::linalg_kernels,
    .decomposition = cuda_impl::decomposition_kernels,
    .fft = cuda_impl::fft_kernels,
    .special = cuda_impl::special_kernels,
    .random = cuda_impl::random_kernels,
    .conv = cuda_impl::conv_kernels,
    .pool = cuda_impl::pool_kernels,
    .loss = cuda_impl::loss_kernels,
    .recurrent = cuda_impl::recurrent_kernels,
    .batch_norm = cuda_impl::batch_norm_kernels,
    .optim = cuda_impl::optim_kernels,
    .capture = cuda_impl::capture_kernels,
    .data = cuda_impl::data_kernels,
};
}  // namespace

const Backend* cuda_backend() { return cuda_impl::device_count() > 0 ? &table : nullptr; }
const char* cuda_reason() { return cuda_impl::why_none().c_str(); }
}  // namespace tandem
