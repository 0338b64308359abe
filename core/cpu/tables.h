// The CPU's kernel tables, one per family, and the table of all.
#pragma once
#include "tandem/core/backend/backend.h"

namespace tandem::cpu {
extern const RuntimeKernels runtime_kernels;
extern const UnaryKernels unary_kernels;
extern const BinaryKernels binary_kernels;
extern const ComparisonKernels comparison_kernels;
extern const TernaryKernels ternary_kernels;
extern const CopyKernels copy_kernels;
extern const ReduceKernels reduce_kernels;
extern const ScanKernels scan_kernels;
extern const SoftmaxKernels softmax_kernels;
extern const SortKernels sort_kernels;
extern const IndexKernels index_kernels;
extern const LinalgKernels linalg_kernels;
extern const DecompositionKernels decomposition_kernels;
extern const FftKernels fft_kernels;
extern const SpecialKernels special_kernels;
extern const RandomKernels random_kernels;
extern const ConvKernels conv_kernels;
extern const PoolKernels pool_kernels;
extern const LossKernels loss_kernels;
extern const RecurrentKernels recurrent_kernels;
extern const BatchNormKernels batch_norm_kernels;
extern const OptimKernels optim_kernels;
extern const CaptureKernels capture_kernels;
extern const DataKernels data_kernels;
/// For the instruction set of the source that includes this.
extern const Backend kernels;
}  // namespace tandem::cpu
