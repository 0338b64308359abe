// Filling with random numbers, and functions built on it. The gradient of the overwritten tensor is 0.
#include "tandem/autograd/ops/random/random.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "tandem/autograd/ops/detail/checks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/fill.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/pointwise/complex.h"
#include "tandem/autograd/ops/random/mersenne_draws.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/core/backend/backend.h"
#include "tandem/core/backend/random.h"
#include "tandem/core/base/checked_sizes.h"
#include "tandem/core/formulas/random_ops.h"

namespace tandem {
namespace {
using namespace autograd;

// Kernels write row-major; other layouts go through a copy, so that element numbers are logical.
template <class Op>
void draw_into(const Tensor& out, OptionalGenerator optional_generator, const RandomParameters& p) {
  const Generator& generator = optional_generator ? *optional_generator : default_generator();
  if (draws_as_pytorch(out.device())) return mersenne_fill<Op>(out, generator, p);
  const Generator::Draw draw = generator.next();
  if (out.numel() == 0) return;
  if (out.is_contiguous()) {
    backend(out).random.fill.get<Op>()(out, draw, p);
    return;
  }
  Tensor row_major = empty_raw(out.sizes(), out.dtype(), out.device());
  backend(out).random.fill.get<Op>()(row_major, draw, p);
  copy_raw(out, row_major);
}

template <class Op>
Tensor& draw_inplace(const Tensor& self, OptionalGenerator generator, const RandomParameters& p) {
  return overwrite(self, Op::name, [&](const Tensor& out) { draw_into<Op>(out, generator, p); });
}

// Allocates the result of a function `draw`, which fills it.
template <class Draw>
Tensor draw_new(IntArrayRef size, const TensorOptions& options, const Draw& draw) {
  Tensor out = empty(size, options.requires_grad(false));
  draw(out);
  return out.requires_grad_(options.requires_grad());
}
template <class Draw>
Tensor draw_like(const Tensor& self, const TensorOptions& given, optional<MemoryFormat> format, const Draw& draw) {
  const TensorOptions merged = given.merge_memory_format(format), options = options_like(merged, self);
  const bool keeps = merged.memory_format_opt().value_or(MemoryFormat::Preserve) == MemoryFormat::Preserve;
  if (!keeps || !draws_as_pytorch(resolve(options.device()))) return draw_new(self.sizes(), options, draw);
  Tensor out = empty_in_order(self, options.requires_grad(false));
  draw(out);
  return out.requires_grad_(options.requires_grad());
}

void check_real(const char* operation, ScalarType type) {
  check(is_floating_point(type), operation, ": expected a floating point dtype, got ", type);
}

// Checks that `first` and `last` are values of the integer type.
void check_integers(const char* operation, int64_t first, int64_t last, ScalarType type) {
  dispatch(type, AllTypes{}, operation, [&]<class T>(Type<T>) {
    if constexpr (std::is_integral_v<T>)
      check(first >= static_cast<int64_t>(std::numeric_limits<T>::min()) &&
                last <= static_cast<int64_t>(std::numeric_limits<T>::max()),
            operation, ": ", first, " to ", last, " does not fit in ", type);
  });
}

// The maximum of an integer type; else the number up to which a type has all integers.
int64_t largest_integer(ScalarType type) {
  int64_t last = 0;
  dispatch(type, AllTypes{}, "random_", [&]<class T>(Type<T>) {
    if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
      last = std::is_same_v<T, Half> ? 1 << 11 : 1 << 8;
    else if constexpr (std::is_floating_point_v<T>)
      last = int64_t{1} << std::numeric_limits<T>::digits;
    else
      last = static_cast<int64_t>(std::numeric_limits<T>::max());
  });
  return last;
}

RandomParameters integers(const char* operation, int64_t low, int64_t high, ScalarType type) {
  check(low < high, operation, ": expected low < high, got ", low, " and ", high);
  check_integers(operation, low, high - 1, type);
  return {.base = low, .range = static_cast<uint64_t>(high) - static_cast<uint64_t>(low)};
}

Tensor& random_integers(const Tensor& self, OptionalGenerator generator, const RandomParameters& p) {
  if (p.range != 0 && p.range <= uint64_t{1} << 32) return draw_inplace<ops::RandomInteger>(self, generator, p);
  return draw_inplace<ops::RandomWideInteger>(self, generator, p);
}

}  // namespace

Tensor& Tensor::uniform_(double from, double to, optional<Generator> generator) const {
  if (is_complex()) {
    view_as_real(*this).uniform_(from, to, std::move(generator));
    return tandem::detail::mutable_handle(*this);
  }
  check_real("uniform_", dtype());
  check(from <= to && std::isfinite(to - from), "uniform_: expected from <= to, got ", from, " and ", to);
  return draw_inplace<ops::Uniform>(*this, generator, {.a = from, .b = to});
}
Tensor& Tensor::normal_(double mean, double std, optional<Generator> generator) const {
  if (is_complex()) {
    view_as_real(*this).normal_(0, std / std::numbers::sqrt2, std::move(generator));
    if (mean != 0) real(*this).add_(mean);
    return tandem::detail::mutable_handle(*this);
  }
  check_real("normal_", dtype());
  check(std >= 0, "normal_: expected a standard deviation >= 0, got ", std);
  return draw_inplace<ops::Normal>(*this, generator, {.a = mean, .b = std});
}
Tensor& Tensor::exponential_(double lambda, optional<Generator> generator) const {
  check_real("exponential_", dtype());
  check(lambda > 0, "exponential_: expected a rate > 0, got ", lambda);
  return draw_inplace<ops::Exponential>(*this, generator, {.a = lambda});
}
Tensor& Tensor::bernoulli_(double p, optional<Generator> generator) const {
  check(p >= 0 && p <= 1, "bernoulli_: p must be in [0, 1], got ", p);
  return draw_inplace<ops::Bernoulli>(*this, generator, {.a = p});
}
Tensor& Tensor::bernoulli_(const Tensor& p, optional<Generator> generator) const {
  const Tensor all = p.detach().expand(sizes());
  const Dims order = draws_as_pytorch(device()) ? memory_order(*this) : Dims();
  const Tensor drawn = draws_as_pytorch(device())
                           ? permute_back(tandem::bernoulli(all.permute(order).contiguous(), generator), order)
                           : tandem::bernoulli(all.to(kDouble), generator);
  return overwrite(*this, "bernoulli_", [&](const Tensor& out) { copy_raw(out, drawn); });
}
Tensor& Tensor::random_(int64_t from, int64_t to, optional<Generator> generator) const {
  return random_integers(*this, generator, integers("random_", from, to, dtype()));
}
Tensor& Tensor::random_(int64_t to, optional<Generator> generator) const {
  return random_(0, to, std::move(generator));
}
Tensor& Tensor::random_(int64_t from, optional<int64_t> to, optional<Generator> generator) const {
  if (to) return random_(from, *to, std::move(generator));
  const int64_t last = largest_integer(dtype());
  check(from <= last, "random_: ", from, " is above ", last, ", the largest number of ", dtype());
  check_integers("random_", from, last, dtype());
  return random_integers(*this, generator, {.base = from, .range = uint64_t(last) - uint64_t(from) + 1});
}
Tensor& Tensor::random_(optional<Generator> generator) const {
  return random_integers(*this, generator, {.a = 1, .range = uint64_t(largest_integer(dtype())) + 1});
}

namespace {

void rand_into(const Tensor& out, OptionalGenerator generator) {
  if (out.is_complex()) return draw_into<ops::Uniform>(parts_raw(out), generator, {.a = 0, .b = 1});
  check_real("rand", out.dtype());
  draw_into<ops::Uniform>(out, generator, {.a = 0, .b = 1});
}
void randn_into(const Tensor& out, OptionalGenerator generator) {
  if (out.is_complex())  // both parts together have variance 1
    return draw_into<ops::Normal>(parts_raw(out), generator, {.a = 0, .b = 1 / std::numbers::sqrt2});
  check_real("randn", out.dtype());
  draw_into<ops::Normal>(out, generator, {.a = 0, .b = 1});
}

}  // namespace

#define TANDEM_RAND(f)                                                                               \
  Tensor f(IntArrayRef size, OptionalGenerator generator, const TensorOptions& options) {            \
    return draw_new(size, options, [&](const Tensor& out) { f##_into(out, generator); });            \
  }                                                                                                  \
  Tensor f(IntArrayRef size, const TensorOptions& options) { return f(size, nullopt, options); }     \
  Tensor f##_like(const Tensor& self, OptionalGenerator generator, const TensorOptions& options,     \
                  optional<MemoryFormat> format) {                                                   \
    return draw_like(self, options, format, [&](const Tensor& out) { f##_into(out, generator); });   \
  }                                                                                                  \
  Tensor f##_like(const Tensor& self, const TensorOptions& options, optional<MemoryFormat> format) { \
    return f##_like(self, nullopt, options, format);                                                 \
  }
TANDEM_RAND(rand)
TANDEM_RAND(randn)
#undef TANDEM_RAND

Tensor randint(int64_t low, int64_t high, IntArrayRef size, OptionalGenerator generator, const TensorOptions& options) {
  const TensorOptions typed = options.has_dtype() ? options : options.dtype(kLong);
  const RandomParameters p = integers("randint", low, high, typed.dtype());
  return draw_new(size, typed, [&](const Tensor& out) { random_integers(out, generator, p); });
}
Tensor randint(int64_t high, IntArrayRef size, const TensorOptions& options) {
  return randint(0, high, size, nullopt, options);
}
Tensor randint(int64_t low, int64_t high, IntArrayRef size, const TensorOptions& options) {
  return randint(low, high, size, nullopt, options);
}
Tensor randint(int64_t high, IntArrayRef size, OptionalGenerator generator, const TensorOptions& options) {
  return randint(0, high, size, generator, options);
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, OptionalGenerator generator,
                    const TensorOptions& options, optional<MemoryFormat> format) {
  const RandomParameters p = integers("randint", low, high, options.has_dtype() ? options.dtype() : self.dtype());
  return draw_like(self, options, format, [&](const Tensor& out) { random_integers(out, generator, p); });
}
Tensor randint_like(const Tensor& self, int64_t low, int64_t high, const TensorOptions& options,
                    optional<MemoryFormat> format) {
  return randint_like(self, low, high, nullopt, options, format);
}
Tensor randint_like(const Tensor& self, int64_t high, OptionalGenerator generator, const TensorOptions& options,
                    optional<MemoryFormat> format) {
  return randint_like(self, 0, high, generator, options, format);
}
Tensor randint_like(const Tensor& self, int64_t high, const TensorOptions& options, optional<MemoryFormat> format) {
  return randint_like(self, 0, high, nullopt, options, format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, OptionalGenerator generator, const TensorOptions& options,
                    optional<MemoryFormat> format) {
  check(high.dim() == 0 && high.is_cpu(), "randint_like: high must be a scalar tensor and on CPU, got ", high);
  return randint_like(self, 0, high.item<int64_t>(), generator, options, format);
}
Tensor randint_like(const Tensor& self, const Tensor& high, const TensorOptions& options,
                    optional<MemoryFormat> format) {
  return randint_like(self, high, nullopt, options, format);
}

// Fisher-Yates shuffle (R. A. Fisher and F. Yates): swaps position i with one of the positions i … n - 1.
// Runs on the host because the swaps are sequential.
Tensor randperm(int64_t n, OptionalGenerator generator, const TensorOptions& options) {
  check(n >= 0, "randperm: expected n >= 0, got ", n);
  check_magnitude("randperm", "n =", n);
  const TensorOptions typed = options.has_dtype() ? options : options.dtype(kLong);
  check_integers("randperm", 0, std::max<int64_t>(n - 1, 0), typed.dtype());
  const Device device = resolve(typed.device());
  const auto finish = [&](const Tensor& order) {
    return order.to(device, typed.dtype()).requires_grad_(options.requires_grad());
  };
  if (draws_as_pytorch(device)) return finish(mersenne_permutation(n, generator ? *generator : default_generator()));
  Tensor order = arange(n, TensorOptions(kLong).device(Device(kCPU, 0)));
  Tensor bits = empty_raw({n}, kLong, Device(kCPU, 0));
  draw_into<ops::RandomInteger>(bits, generator, {.range = uint64_t{1} << 63});
  int64_t* o = order.ptr<int64_t>();
  const auto* r = bits.ptr<int64_t>();
  for (int64_t i = 0; i + 1 < n; ++i) {
    const auto left = static_cast<uint64_t>(n - i);
    std::swap(o[i], o[i + static_cast<int64_t>(math::multiply_high(uint64_t(r[i]) << 1, left))]);
  }
  return finish(order);
}
Tensor randperm(int64_t n, const TensorOptions& options) { return randperm(n, nullopt, options); }

Tensor normal(double mean, double std, IntArrayRef size, OptionalGenerator generator, const TensorOptions& options) {
  check_real("normal", options.dtype());
  check(std >= 0, "normal: expected a standard deviation >= 0, got ", std);
  return draw_new(size, options,
                  [&](const Tensor& out) { draw_into<ops::Normal>(out, generator, {.a = mean, .b = std}); });
}
Tensor normal(const Tensor& mean, const Tensor& std, OptionalGenerator generator) {
  check_real("normal", mean.dtype());
  check_real("normal", std.dtype());
  const Tensor m = mean.detach(), s = std.detach();
  check_range("normal", s, 0, std::numeric_limits<double>::infinity(), "expected standard deviations >= 0");
  const Dims size = broadcast_sizes(m.sizes(), s.sizes(), "normal");
  const TensorOptions options = mean.options().dtype(promote_types(m.dtype(), s.dtype()));
  return randn(size, generator, options) * s + m;
}
Tensor normal(const Tensor& mean, double std, OptionalGenerator generator) {
  if (draws_as_pytorch(mean.device()))  // half types are rounded after the multiplication
    return normal(0, std, mean.sizes(), generator, mean.options().requires_grad(false)) + mean.detach();
  return normal(mean, full({}, std, mean.options()), generator);
}
Tensor normal(double mean, const Tensor& std, OptionalGenerator generator) {
  return normal(full({}, mean, std.options()), std, generator);
}

Tensor bernoulli(const Tensor& self, OptionalGenerator generator) {
  check_real("bernoulli", self.dtype());
  const Tensor p = self.detach().to(kDouble);
  check_range("bernoulli", p, 0, 1, "probabilities must be in [0, 1]");
  Tensor out;
  if (draws_as_pytorch(self.device())) {
    const Tensor computed = self.dtype() == kDouble ? p : p.to(kFloat);
    out = mersenne_bernoulli(computed.contiguous(), generator ? *generator : default_generator()).to(self.dtype());
  } else {
    out = (rand(p.sizes(), generator, p.options()) < p).to(self.dtype());
  }
  if (auto* node = record<ZeroBackward>(out, self)) node->set(self);
  return out;
}
Tensor bernoulli(const Tensor& self, double p, OptionalGenerator generator) {
  if (!draws_as_pytorch(self.device())) return empty_like(self).bernoulli_(p, generator);
  return empty(self.sizes(), self.options().requires_grad(false)).bernoulli_(p, generator);
}

namespace {
// Weights over exponential numbers: the largest is drawn first (P. Efraimidis, P. Spirakis, 2006).
// `ordered` has the memory order of the program's argument.
Tensor multinomial_as_pytorch(const Tensor& weights, const Tensor& ordered, int64_t samples, bool replacement,
                              OptionalGenerator generator) {
  const Tensor computed = weights.dtype() == kDouble ? weights : weights.to(kFloat);
  if (replacement && samples > 1)
    return mersenne_multinomial(computed, samples, generator ? *generator : default_generator());
  Tensor times = empty_in_order(ordered, computed.options());
  times.exponential_(1, generator);
  const Tensor keys = computed / times;
  return samples == 1 ? keys.argmax(-1, true) : std::get<1>(keys.topk(samples));
}

// Throws Error for weights that the kernel would refuse.
void check_weights(const Tensor& weights, int64_t samples, bool replacement) {
  check(weights.isfinite().all().item<bool>() && (weights >= 0).all().item<bool>(),
        "multinomial: weights must be finite and not negative");
  const int64_t fewest = (weights > 0).sum(IntArrayRef(-1)).min().item<int64_t>();
  check(fewest >= (replacement ? 1 : samples), "multinomial: ", samples, " samples, but a row has ", fewest,
        " positive weights");
}
}  // namespace

Tensor multinomial(const Tensor& self, int64_t num_samples, bool replacement, OptionalGenerator generator) {
  check_real("multinomial", self.dtype());
  check(self.dim() == 1 || self.dim() == 2, "multinomial: expected weights [C] or [B, C], got ", self);
  check(num_samples > 0, "multinomial: expected at least one sample, got ", num_samples);
  const int64_t columns = self.size(-1), rows = self.dim() == 2 ? self.size(0) : 1;
  check(columns > 0, "multinomial: expected at least one weight, got ", self);
  check(replacement || num_samples <= columns, "multinomial: ", num_samples, " samples without replacement from ",
        columns, " weights");
  if (draws_as_pytorch(self.device()) && rows > 0) {
    const Tensor plain = self.detach().contiguous().view({rows, columns});
    check_weights(plain, num_samples, replacement);
    const Tensor ordered = self.dim() == 2 ? self : self.unsqueeze(0);
    const Tensor drawn = multinomial_as_pytorch(plain, ordered, num_samples, replacement, generator);
    return self.dim() == 2 ? drawn : drawn.view({num_samples});
  }
  const Tensor weights = self.detach().to(kDouble).contiguous().view({rows, columns});
  Tensor out = empty_raw({rows, num_samples}, kLong, self.device());
  const Generator::Draw draw = (generator ? *generator : default_generator()).next();
  backend(self).random.multinomial(out, weights, replacement, draw);
  return self.dim() == 2 ? out : out.view({num_samples});
}

Tensor Tensor::bernoulli(optional<Generator> generator) const { return tandem::bernoulli(*this, generator); }
Tensor Tensor::bernoulli(double p, optional<Generator> generator) const {
  return tandem::bernoulli(*this, p, generator);
}
Tensor Tensor::multinomial(int64_t num_samples, bool replacement, optional<Generator> generator) const {
  return tandem::multinomial(*this, num_samples, replacement, generator);
}

}  // namespace tandem
