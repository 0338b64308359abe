// The draws of GeneratorMode::kPyTorch, on the CPU. Internal to the operations that draw.
#pragma once
#include "tandem/core/backend/random.h"

namespace tandem::autograd {

/// Whether tensors on this device are filled by these functions.
inline bool draws_as_pytorch(Device device) {
  return generator_mode() == GeneratorMode::kPyTorch && device.type() == kCPU;
}
/// The dimensions of t, that with the largest stride first: PyTorch's draws fill tensors in this order.
Dims memory_order(const Tensor& t);
/// Undoes permute(order).
Tensor permute_back(const Tensor& t, const Dims& order);
/// Uninitialised, with the sizes of `like`; its memory also has the order of like's, whatever that is.
Tensor empty_in_order(const Tensor& like, const TensorOptions& options);

/// Fills `out`, on the CPU and of a dtype of the operation (one of ops::RandomOps), as PyTorch does. Besides what the
/// operation reads, ops::Normal draws numbers one by one if p.base is 1, and the integers take p.a = 1 for random_()
/// without bounds.
template <class Op>
void mersenne_fill(const Tensor& out, const Generator& generator, const RandomParameters& p);
/// A permutation of 0 … n - 1, int64.
Tensor mersenne_permutation(int64_t n, const Generator& generator);
/// 1 with probabilities p (contiguous, float32 or float64, on the CPU), else 0.
Tensor mersenne_bernoulli(const Tensor& p, const Generator& generator);
/// Where `drawn` (bool, contiguous, on the CPU) is true a number in [from, to), else 1; float64.
Tensor mersenne_slopes(const Tensor& drawn, double from, double to, const Generator& generator);
/// Numbers with the gamma distributions of these shapes (contiguous, float32 or float64, on the CPU) and rate 1.
Tensor mersenne_gamma(const Tensor& shapes, const Generator& generator);
/// Numbers of successes; contiguous, float64, on the CPU.
Tensor mersenne_binomial(const Tensor& counts, const Tensor& probabilities, const Generator& generator);
/// Numbers with the Poisson distributions of these rates (contiguous, float64, on the CPU, finite and not negative).
Tensor mersenne_poisson(const Tensor& rates, const Generator& generator);
/// Column indices, int64 [rows, samples], drawn with replacement; weights [rows, columns], contiguous, float32 or
/// float64, on the CPU, finite and not negative, with a positive one in every row.
Tensor mersenne_multinomial(const Tensor& weights, int64_t samples, const Generator& generator);

}  // namespace tandem::autograd
