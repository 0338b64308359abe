// Functions that write to a given tensor (out_write.h): random tensors.
#pragma once
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/random/distributions.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/autograd/ops/torch_names/out_write.h"

namespace tandem {

TANDEM_OUT(bernoulli, (const Tensor& self, const optional<Generator>& generator = nullopt), self, generator)
TANDEM_OUT(bernoulli, (const Tensor& self, double p = 0.5, const optional<Generator>& generator = nullopt), self, p,
           generator)
inline Tensor& bernoulli_out(Tensor& out, const Tensor& self, const Tensor& p,
                             const optional<Generator>& generator = nullopt) {
  return autograd::write_out("bernoulli_out", out)(tandem::empty_like(self).bernoulli_(p, generator));
}
TANDEM_OUT(multinomial,
           (const Tensor& self, int64_t num_samples, bool replacement = false,
            const optional<Generator>& generator = nullopt),
           self, num_samples, replacement, generator)
TANDEM_OUT(normal, (const Tensor& mean, double std = 1, const optional<Generator>& generator = nullopt), mean, std,
           generator)
TANDEM_OUT(normal, (double mean, const Tensor& std, const optional<Generator>& generator = nullopt), mean, std,
           generator)
TANDEM_OUT(normal, (const Tensor& mean, const Tensor& std, const optional<Generator>& generator = nullopt), mean, std,
           generator)
inline Tensor& normal_out(Tensor& out, const Tensor& self, double mean, double std,
                          const optional<Generator>& generator = nullopt) {
  return autograd::write_out("normal_out", out)(tandem::empty_like(self).normal_(mean, std, generator));
}
TANDEM_OUT(normal, (double mean, double std, IntArrayRef size, const optional<Generator>& generator = nullopt), mean,
           std, size, generator, out.options())
TANDEM_OUT(rand, (IntArrayRef size), size, out.options())
TANDEM_OUT(rand, (IntArrayRef size, const optional<Generator>& generator), size, generator, out.options())
TANDEM_OUT(rand_like, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, out.options(), format)
TANDEM_OUT(rand_like,
           (const Tensor& self, const optional<Generator>& generator, optional<MemoryFormat> format = nullopt), self,
           generator, out.options(), format)
TANDEM_OUT(randint, (int64_t high, IntArrayRef size), high, size, out.options())
TANDEM_OUT(randint, (int64_t high, IntArrayRef size, const optional<Generator>& generator), high, size, generator,
           out.options())
TANDEM_OUT(randint, (int64_t low, int64_t high, IntArrayRef size), low, high, size, out.options())
TANDEM_OUT(randint, (int64_t low, int64_t high, IntArrayRef size, const optional<Generator>& generator), low, high,
           size, generator, out.options())
TANDEM_OUT(randint_like, (const Tensor& self, int64_t high, optional<MemoryFormat> format = nullopt), self, high,
           out.options(), format)
TANDEM_OUT(randint_like,
           (const Tensor& self, int64_t high, const optional<Generator>& generator,
            optional<MemoryFormat> format = nullopt),
           self, high, generator, out.options(), format)
TANDEM_OUT(randint_like, (const Tensor& self, const Tensor& high, optional<MemoryFormat> format = nullopt), self, high,
           out.options(), format)
TANDEM_OUT(randint_like,
           (const Tensor& self, const Tensor& high, const optional<Generator>& generator,
            optional<MemoryFormat> format = nullopt),
           self, high, generator, out.options(), format)
TANDEM_OUT(randint_like, (const Tensor& self, int64_t low, int64_t high, optional<MemoryFormat> format = nullopt), self,
           low, high, out.options(), format)
TANDEM_OUT(randint_like,
           (const Tensor& self, int64_t low, int64_t high, const optional<Generator>& generator,
            optional<MemoryFormat> format = nullopt),
           self, low, high, generator, out.options(), format)
TANDEM_OUT(randn, (IntArrayRef size), size, out.options())
TANDEM_OUT(randn, (IntArrayRef size, const optional<Generator>& generator), size, generator, out.options())
TANDEM_OUT(randn_like, (const Tensor& self, optional<MemoryFormat> format = nullopt), self, out.options(), format)
TANDEM_OUT(randn_like,
           (const Tensor& self, const optional<Generator>& generator, optional<MemoryFormat> format = nullopt), self,
           generator, out.options(), format)
TANDEM_OUT(randperm, (int64_t n), n, out.options())
TANDEM_OUT(randperm, (int64_t n, const optional<Generator>& generator), n, generator, out.options())
TANDEM_OUT(binomial, (const Tensor& count, const Tensor& prob, const optional<Generator>& generator = nullopt), count,
           prob, generator)
TANDEM_OUT(cauchy,
           (const Tensor& self, double median = 0, double sigma = 1, const optional<Generator>& generator = nullopt),
           self, median, sigma, generator)
TANDEM_OUT(exponential, (const Tensor& self, double lambd = 1, const optional<Generator>& generator = nullopt), self,
           lambd, generator)
TANDEM_OUT(geometric, (const Tensor& self, double p, const optional<Generator>& generator = nullopt), self, p,
           generator)
TANDEM_OUT(log_normal,
           (const Tensor& self, double mean = 1, double std = 2, const optional<Generator>& generator = nullopt), self,
           mean, std, generator)
TANDEM_OUT(poisson, (const Tensor& self, const optional<Generator>& generator = nullopt), self, generator)
TANDEM_OUT(random,
           (const Tensor& self, int64_t from, optional<int64_t> to, const optional<Generator>& generator = nullopt),
           self, from, to, generator)
TANDEM_OUT(random, (const Tensor& self, int64_t to, const optional<Generator>& generator = nullopt), self, to,
           generator)
TANDEM_OUT(random, (const Tensor& self, const optional<Generator>& generator = nullopt), self, generator)
TANDEM_OUT(uniform,
           (const Tensor& self, double from = 0, double to = 1, const optional<Generator>& generator = nullopt), self,
           from, to, generator)

}  // namespace tandem
