// Random tensors and permutations. `generator`: the default one where none is given. Element i of a tensor,
// in row-major order, depends on the generator's seed, its offset and i alone: not on threads, strides,
// device. dtype where none: the default dtype, int64 for randint, randperm and multinomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

using OptionalGenerator = const optional<Generator>&;

/// Uniform in [0, 1).
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, OptionalGenerator generator, const TensorOptions& options = {});
Tensor rand_like(const Tensor& self, const TensorOptions& options = {});
/// Normal, mean 0 and standard deviation 1.
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, OptionalGenerator generator, const TensorOptions& options = {});
Tensor randn_like(const Tensor& self, const TensorOptions& options = {});
/// Integers in [low, high), evenly. Throws Error unless low < high and the dtype holds them.
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef size, OptionalGenerator generator,
               const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, OptionalGenerator generator,
               const TensorOptions& options = {});
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options = {});
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options = {});
/// 0 … n - 1 in random order, every order equally likely.
Tensor randperm(int64_t n, const TensorOptions& options = {});
Tensor randperm(int64_t n, OptionalGenerator generator, const TensorOptions& options = {});

/// Normal of given mean and standard deviation (not negative); tensors broadcast. Without gradient.
Tensor normal(double mean, double std, IntArrayRef size, OptionalGenerator generator = nullopt,
              const TensorOptions& options = {});
Tensor normal(const Tensor& mean, double std = 1, OptionalGenerator generator = nullopt);
Tensor normal(double mean, const Tensor& std, OptionalGenerator generator = nullopt);
Tensor normal(const Tensor& mean, const Tensor& std, OptionalGenerator generator = nullopt);

/// 1 with the probability in `self`, else 0; of self's dtype and shape. Gradient 0.
Tensor bernoulli(const Tensor& self, OptionalGenerator generator = nullopt);
/// 1 with probability p, else 0; like `self`.
Tensor bernoulli(const Tensor& self, double p, OptionalGenerator generator = nullopt);

/// Indices drawn with the given weights, which need not sum to 1: [C] gives [num_samples], [B, C] gives
/// [B, num_samples], int64. Throws Error on negative, infinite or NaN weights, a row of zeros, and without
/// replacement on fewer positive weights than samples.
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false,
                   OptionalGenerator generator = nullopt);

}  // namespace tandem
