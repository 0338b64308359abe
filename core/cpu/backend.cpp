// The CPU's backend table, for one instruction set (kernel_sets.h).
#include "tandem/core/cpu/tables.h"

namespace tandem::cpu {
constinit const Backend kernels{
    .runtime = cpu::runtime_kernels,
    .unary = cpu::unary_kernels,
    .binary = cpu::binary_kernels,
    .comparison = cpu::comparison_kernels,
    .ternary = cpu::ternary_kernels,
    .copy = cpu::copy_kernels,
    .reduce = cpu::reduce_kernels,
    .scan = cpu::scan_kernels,
    .softmax = cpu::softmax_kernels,
    .sort = cpu::sort_kernels,
    .index = cpu::index_kernels,
    .linalg = cpu::linalg_kernels,
    .decomposition = cpu::decomposition_kernels,
    .fft = cpu::fft_kernels,
    .special = cpu::special_kernels,
    .random = cpu::random_kernels,
    .conv = cpu::conv_kernels,
    .pool = cpu::pool_kernels,
    .loss = cpu::loss_kernels,
    .recurrent = cpu::recurrent_kernels,
    .batch_norm = cpu::batch_norm_kernels,
    .optim = cpu::optim_kernels,
    .capture = cpu::capture_kernels,
    .data = cpu::data_kernels,
};
}  // namespace tandem::cpu
