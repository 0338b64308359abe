// The parts of the random number table, each defined in a separate file.
#pragma once
#include "tandem/core/backend/random.h"
#include "tandem/cuda/tables.h"

namespace tandem::cuda_impl {
extern const FillRandomKernels fill_random_kernels;
void multinomial(const Tensor& out, const Tensor& weights, bool replacement, const Generator::Draw& draw);
void poisson(const Tensor& out, const Tensor& rates, const Generator::Draw& draw);
void binomial(const Tensor& out, const Tensor& counts, const Tensor& probabilities, const Generator::Draw& draw);
}  // namespace tandem::cuda_impl
