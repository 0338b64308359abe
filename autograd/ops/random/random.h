// Random tensors and permutations. `generator` defaults to the default generator. Element i of a tensor, in
// row-major order, depends only on the generator's seed, its offset and i: not on threads, strides or device.
// The default dtype of the results is the default dtype, or int64 for randint, randperm and multinomial.
#pragma once
#include "tandem/core/tensor.h"

namespace tandem {

using OptionalGenerator = const optional<Generator>&;

/// Uniform in [0, 1).
Tensor rand(IntArrayRef size, const TensorOptions& options = {});
Tensor rand(IntArrayRef size, OptionalGenerator generator, const TensorOptions& options = {});
Tensor rand_like(const Tensor& self, const TensorOptions& options = {}, optional<MemoryFormat> format = nullopt);
Tensor rand_like(const Tensor& self, OptionalGenerator generator, const TensorOptions& options = {},
                 optional<MemoryFormat> format = nullopt);
/// Normal with mean 0 and standard deviation 1.
Tensor randn(IntArrayRef size, const TensorOptions& options = {});
Tensor randn(IntArrayRef size, OptionalGenerator generator, const TensorOptions& options = {});
Tensor randn_like(const Tensor& self, const TensorOptions& options = {}, optional<MemoryFormat> format = nullopt);
Tensor randn_like(const Tensor& self, OptionalGenerator generator, const TensorOptions& options = {},
                  optional<MemoryFormat> format = nullopt);
/// Uniform integers in [low, high). Throws Error unless low < high and the dtype can hold them.
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options = {});
Tensor randint(int64_t high, IntArrayRef size, OptionalGenerator generator, const TensorOptions& options = {});
Tensor randint(int64_t low, int64_t high, IntArrayRef size, OptionalGenerator generator,
               const TensorOptions& options = {});
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options = {},
                    optional<MemoryFormat> format = nullopt);
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options = {},
                    optional<MemoryFormat> format = nullopt);
Tensor randint_like(const Tensor& self, int64_t high, OptionalGenerator generator, const TensorOptions& options = {},
                    optional<MemoryFormat> format = nullopt);
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, OptionalGenerator generator,
                    const TensorOptions& options = {}, optional<MemoryFormat> format = nullopt);
/// `high` is a 0-dim tensor on the CPU. Throws Error for others.
Tensor randint_like(const Tensor& self, const Tensor& high, const TensorOptions& options = {},
                    optional<MemoryFormat> format = nullopt);
Tensor randint_like(const Tensor& self, const Tensor& high, OptionalGenerator generator,
                    const TensorOptions& options = {}, optional<MemoryFormat> format = nullopt);
/// A permutation of 0 … n - 1; all orders are equally likely.
Tensor randperm(int64_t n, const TensorOptions& options = {});
Tensor randperm(int64_t n, OptionalGenerator generator, const TensorOptions& options = {});

/// Normal with the given mean and standard deviation (not negative); tensors broadcast. No gradient.
Tensor normal(double mean, double std, IntArrayRef size, OptionalGenerator generator = nullopt,
              const TensorOptions& options = {});
Tensor normal(const Tensor& mean, double std = 1, OptionalGenerator generator = nullopt);
Tensor normal(double mean, const Tensor& std, OptionalGenerator generator = nullopt);
Tensor normal(const Tensor& mean, const Tensor& std, OptionalGenerator generator = nullopt);

/// 1 with the probability in `self`, else 0; has self's dtype and shape. The gradient is 0.
Tensor bernoulli(const Tensor& self, OptionalGenerator generator = nullopt);
/// 1 with probability p, else 0; has the dtype and shape of `self`.
Tensor bernoulli(const Tensor& self, double p, OptionalGenerator generator = nullopt);

/// Indices drawn with the given weights, which need not sum to 1: [C] → [num_samples], [B, C] → [B,
/// num_samples], int64. Throws Error for negative, infinite or NaN weights, for a row of zeros, and, without
/// replacement, for fewer positive weights than samples.
Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement = false,
                   OptionalGenerator generator = nullopt);

}  // namespace tandem
