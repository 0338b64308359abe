// Random tensors of further distributions. The functions of a tensor return new values in its shape and dtype; those
// with a trailing _ write it. Without gradients, except for binomial and poisson, whose gradients are 0.
#pragma once
#include "tandem/autograd/ops/random/random.h"

namespace tandem {

/// Uniform in [from, to).
Tensor uniform(const Tensor& self, double from = 0, double to = 1, OptionalGenerator generator = nullopt);
/// Exponential with rate lambd > 0.
Tensor exponential(const Tensor& self, double lambd = 1, OptionalGenerator generator = nullopt);
/// median + sigma tan(pi (u - 1/2)) with u uniform in (0, 1); sigma > 0. Floating point.
Tensor cauchy(const Tensor& self, double median = 0, double sigma = 1, OptionalGenerator generator = nullopt);
Tensor& cauchy_(Tensor& self, double median = 0, double sigma = 1, OptionalGenerator generator = nullopt);
/// e^x with x normal; std > 0. Floating point.
Tensor log_normal(const Tensor& self, double mean = 1, double std = 2, OptionalGenerator generator = nullopt);
Tensor& log_normal_(Tensor& self, double mean = 1, double std = 2, OptionalGenerator generator = nullopt);
/// The number of trials up to the first success, each with probability p in (0, 1). Not for bool.
Tensor geometric(const Tensor& self, double p, OptionalGenerator generator = nullopt);
Tensor& geometric_(Tensor& self, double p, OptionalGenerator generator = nullopt);
/// Integers, as Tensor::random_ draws them.
Tensor random(const Tensor& self, int64_t from, optional<int64_t> to, OptionalGenerator generator = nullopt);
Tensor random(const Tensor& self, int64_t to, OptionalGenerator generator = nullopt);
Tensor random(const Tensor& self, OptionalGenerator generator = nullopt);
/// The number of events with the rate in `self`, in self's dtype. Floating point; throws Error for a negative, infinite or
/// NaN rate.
Tensor poisson(const Tensor& self, OptionalGenerator generator = nullopt);
/// The number of successes in `count` trials with probability `prob`; both broadcast and have one floating point dtype.
Tensor binomial(const Tensor& count, const Tensor& prob, OptionalGenerator generator = nullopt);
/// Gamma with the shape in `self` and scale 1, in self's dtype. Floating point; throws Error for a shape <= 0. By the
/// method of G. Marsaglia and W. W. Tsang, A simple method for generating gamma variables (2000).
Tensor _standard_gamma(const Tensor& self, OptionalGenerator generator = nullopt);
/// Dirichlet with the concentrations in the last dimension of `self`, in self's dtype: that dimension has sum 1.
/// Floating point; throws Error for a concentration <= 0.
Tensor _sample_dirichlet(const Tensor& self, OptionalGenerator generator = nullopt);

}  // namespace tandem
