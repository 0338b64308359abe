// The draws of GeneratorMode::kPyTorch, on the CPU. Internal to random.cpp.
#pragma once
#include "tandem/core/backend/random.h"

namespace tandem::autograd {

/// Fills `out`, contiguous, on the CPU and of a dtype of the operation (one of ops::RandomOps), as PyTorch does.
template <class Op>
void mersenne_fill(const Tensor& out, const Generator& generator, const RandomParameters& p);
/// A permutation of 0 … n - 1, int64.
Tensor mersenne_permutation(int64_t n, const Generator& generator);
/// 1 with probabilities p (contiguous, float32 or float64, on the CPU), else 0.
Tensor mersenne_bernoulli(const Tensor& p, const Generator& generator);
/// Numbers with the Poisson distributions of these rates (contiguous, float64, on the CPU, finite and not negative).
Tensor mersenne_poisson(const Tensor& rates, const Generator& generator);
/// Column indices, int64 [rows, samples], drawn with replacement; weights [rows, columns], contiguous, float32 or
/// float64, on the CPU, finite and not negative, with a positive one in every row.
Tensor mersenne_multinomial(const Tensor& weights, int64_t samples, const Generator& generator);

}  // namespace tandem::autograd
