// Functions that write to a given tensor (out_write.h): random tensors.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/random/distributions.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

inline Tensor& bernoulli_out(Tensor& out, const Tensor& self, const optional<Generator>& generator = nullopt) {
  return autograd::write_out("bernoulli_out", out)(tandem::bernoulli(self, generator));
}
inline Tensor& bernoulli_out(Tensor& out, const Tensor& self, double p = 0.5,
                             const optional<Generator>& generator = nullopt) {
  return autograd::write_out("bernoulli_out", out)(tandem::bernoulli(self, p, generator));
}
inline Tensor& bernoulli_out(Tensor& out, const Tensor& self, const Tensor& p,
                             const optional<Generator>& generator = nullopt) {
  return autograd::write_out("bernoulli_out", out)(tandem::empty_like(self).bernoulli_(p, generator));
}
inline Tensor& multinomial_out(Tensor& out, const Tensor& self, int64_t num_samples, bool replacement = false,
                               const optional<Generator>& generator = nullopt) {
  return autograd::write_out("multinomial_out", out)(tandem::multinomial(self, num_samples, replacement, generator));
}
inline Tensor& normal_out(Tensor& out, const Tensor& mean, double std = 1,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::normal(mean, std, generator));
}
inline Tensor& normal_out(Tensor& out, double mean, const Tensor& std, const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::normal(mean, std, generator));
}
inline Tensor& normal_out(Tensor& out, const Tensor& mean, const Tensor& std,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::normal(mean, std, generator));
}
inline Tensor& normal_out(Tensor& out, const Tensor& self, double mean, double std,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::empty_like(self).normal_(mean, std, generator));
}
inline Tensor& normal_out(Tensor& out, double mean, double std, IntArrayRef size,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::normal(mean, std, size, generator, out.options()));
}
inline Tensor& rand_out(Tensor& out, IntArrayRef size) {
  return autograd::write_out("rand_out", out)(tandem::rand(size, out.options()));
}
inline Tensor& rand_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator) {
  return autograd::write_out("rand_out", out)(tandem::rand(size, generator, out.options()));
}
inline Tensor& rand_like_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("rand_like_out", out)(tandem::rand_like(self, out.options(), format));
}
inline Tensor& rand_like_out(Tensor& out, const Tensor& self, const optional<Generator>& generator,
                             optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("rand_like_out", out)(tandem::rand_like(self, generator, out.options(), format));
}
inline Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size) {
  return autograd::write_out("randint_out", out)(tandem::randint(high, size, out.options()));
}
inline Tensor& randint_out(Tensor& out, int64_t high, IntArrayRef size, const optional<Generator>& generator) {
  return autograd::write_out("randint_out", out)(tandem::randint(high, size, generator, out.options()));
}
inline Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size) {
  return autograd::write_out("randint_out", out)(tandem::randint(low, high, size, out.options()));
}
inline Tensor& randint_out(Tensor& out, int64_t low, int64_t high, IntArrayRef size,
                           const optional<Generator>& generator) {
  return autograd::write_out("randint_out", out)(tandem::randint(low, high, size, generator, out.options()));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, int64_t high,
                                optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out", out)(tandem::randint_like(self, high, out.options(), format));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, int64_t high, const optional<Generator>& generator,
                                optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out",
                             out)(tandem::randint_like(self, high, generator, out.options(), format));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, const Tensor& high,
                                optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out", out)(tandem::randint_like(self, high, out.options(), format));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, const Tensor& high,
                                const optional<Generator>& generator, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out",
                             out)(tandem::randint_like(self, high, generator, out.options(), format));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, int64_t low, int64_t high,
                                optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out", out)(tandem::randint_like(self, low, high, out.options(), format));
}
inline Tensor& randint_like_out(Tensor& out, const Tensor& self, int64_t low, int64_t high,
                                const optional<Generator>& generator, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randint_like_out",
                             out)(tandem::randint_like(self, low, high, generator, out.options(), format));
}
inline Tensor& randn_out(Tensor& out, IntArrayRef size) {
  return autograd::write_out("randn_out", out)(tandem::randn(size, out.options()));
}
inline Tensor& randn_out(Tensor& out, IntArrayRef size, const optional<Generator>& generator) {
  return autograd::write_out("randn_out", out)(tandem::randn(size, generator, out.options()));
}
inline Tensor& randn_like_out(Tensor& out, const Tensor& self, optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randn_like_out", out)(tandem::randn_like(self, out.options(), format));
}
inline Tensor& randn_like_out(Tensor& out, const Tensor& self, const optional<Generator>& generator,
                              optional<MemoryFormat> format = nullopt) {
  return autograd::write_out("randn_like_out", out)(tandem::randn_like(self, generator, out.options(), format));
}
inline Tensor& randperm_out(Tensor& out, int64_t n) {
  return autograd::write_out("randperm_out", out)(tandem::randperm(n, out.options()));
}
inline Tensor& randperm_out(Tensor& out, int64_t n, const optional<Generator>& generator) {
  return autograd::write_out("randperm_out", out)(tandem::randperm(n, generator, out.options()));
}
inline Tensor& binomial_out(Tensor& out, const Tensor& count, const Tensor& prob,
                            const optional<Generator>& generator = nullopt) {
  return autograd::write_out("binomial_out", out)(tandem::binomial(count, prob, generator));
}
inline Tensor& cauchy_out(Tensor& out, const Tensor& self, double median = 0, double sigma = 1,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("cauchy_out", out)(tandem::cauchy(self, median, sigma, generator));
}
inline Tensor& exponential_out(Tensor& out, const Tensor& self, double lambd = 1,
                               const optional<Generator>& generator = nullopt) {
  return autograd::write_out("exponential_out", out)(tandem::exponential(self, lambd, generator));
}
inline Tensor& geometric_out(Tensor& out, const Tensor& self, double p,
                             const optional<Generator>& generator = nullopt) {
  return autograd::write_out("geometric_out", out)(tandem::geometric(self, p, generator));
}
inline Tensor& log_normal_out(Tensor& out, const Tensor& self, double mean = 1, double std = 2,
                              const optional<Generator>& generator = nullopt) {
  return autograd::write_out("log_normal_out", out)(tandem::log_normal(self, mean, std, generator));
}
inline Tensor& poisson_out(Tensor& out, const Tensor& self, const optional<Generator>& generator = nullopt) {
  return autograd::write_out("poisson_out", out)(tandem::poisson(self, generator));
}
inline Tensor& random_out(Tensor& out, const Tensor& self, int64_t from, optional<int64_t> to,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("random_out", out)(tandem::random(self, from, to, generator));
}
inline Tensor& random_out(Tensor& out, const Tensor& self, int64_t to, const optional<Generator>& generator = nullopt) {
  return autograd::write_out("random_out", out)(tandem::random(self, to, generator));
}
inline Tensor& random_out(Tensor& out, const Tensor& self, const optional<Generator>& generator = nullopt) {
  return autograd::write_out("random_out", out)(tandem::random(self, generator));
}
inline Tensor& uniform_out(Tensor& out, const Tensor& self, double from = 0, double to = 1,
                           const optional<Generator>& generator = nullopt) {
  return autograd::write_out("uniform_out", out)(tandem::uniform(self, from, to, generator));
}

}  // namespace tandem
