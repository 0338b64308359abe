// Entries of the reduction table that are defined in separate files.
#pragma once
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {

void amax(const Tensor& out, const Tensor& in, uint32_t mask);
void amin(const Tensor& out, const Tensor& in, uint32_t mask);
void any(const Tensor& out, const Tensor& in, uint32_t mask);
void all(const Tensor& out, const Tensor& in, uint32_t mask);
void norm(const Tensor& out, const Tensor& in, uint32_t mask, double p);
void max_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim);
void min_index(const Tensor& values, const Tensor& indices, const Tensor& in, int64_t dim);

}  // namespace tandem::cuda_impl
