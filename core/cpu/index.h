// Shared code of the CPU's index kernels.
#pragma once
#include "tandem/core/backend/index.h"
#include "tandem/core/backend/kernel_arguments.h"
#include "tandem/core/cpu/pointwise/loop.h"

namespace tandem::cpu {

[[noreturn]] void bad_index(const char* operation, int64_t index, int64_t dim, int64_t size);

/// Grain for positions with `count` ordered steps each: at least a cache line of 4-byte elements.
inline int64_t positions_grain(int64_t count) { return std::max<int64_t>(16, kGrain / std::max<int64_t>(1, count)); }

// The kernels of this family.
void gather(const Tensor& out, const Tensor& in, int64_t dim, const Tensor& index);
void scatter(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source);
void scatter_add(const Tensor& out, int64_t dim, const Tensor& index, const Tensor& source);
int64_t count_nonzero(const Tensor& in);
void nonzero(const Tensor& out, const Tensor& in);
void cat(const Tensor& out, TensorList parts, int64_t dim);
void triangle(const Tensor& out, const Tensor& in, int64_t diagonal, bool upper);

}  // namespace tandem::cpu
