// How many threads the blocks of kernels have that work along rows or columns.
#pragma once

namespace tandem::cuda_impl {
inline constexpr int kLineThreads = 256;
}  // namespace tandem::cuda_impl
