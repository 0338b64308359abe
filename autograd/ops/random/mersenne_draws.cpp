// The draws of GeneratorMode::kPyTorch.
#include "tandem/autograd/ops/random/mersenne_draws.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <vector>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/formulas/count_ops.h"
#include "tandem/core/formulas/random_ops.h"
#include "tandem/core/random/mersenne.h"

namespace tandem::autograd {
namespace {
using tandem::detail::MersenneStream;

template <class T>
using Computed = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T>
Computed<T> uniform(MersenneStream& stream) {
  if constexpr (std::is_same_v<T, double>)
    return stream.uniform_double();
  else
    return stream.uniform();
}

template <class T>
void draw(ops::Uniform, MersenneStream& stream, const RandomParameters& p, T* out, int64_t n) {
  using C = Computed<T>;
  const C from = static_cast<C>(p.a), to = static_cast<C>(p.b);
  const T first = static_cast<T>(from), last = static_cast<T>(to);
  for (int64_t i = 0; i < n; ++i) {
    const T value = static_cast<T>(std::fma(uniform<T>(stream), to - from, from));
    out[i] = value < last ? value : first;
  }
}

// Box and Muller's transform of 16 uniform numbers: the first 8 give radii, the others angles.
template <class C>
void transform_block(C* x, C mean, C std) {
  for (int i = 0; i < 8; ++i) {
    const C radius = std::sqrt(C(-2) * std::log(C(1) - x[i]));
    const C turn = C(2) * std::numbers::pi_v<C> * x[i + 8];
    x[i] = radius * std::cos(turn) * std + mean;
    x[i + 8] = radius * std::sin(turn) * std + mean;
  }
}

// float32 and float64 draw all uniform numbers first; the 16-bit types draw block by block. Numbers that do not fill a
// block are replaced by the end of a new one. Fewer than 16 numbers, and those of tensors that are not contiguous, are
// drawn one by one.
template <class T>
void draw(ops::Normal, MersenneStream& stream, const RandomParameters& p, T* out, int64_t n) {
  using C = Computed<T>;
  if (n < 16 || p.base == 1) {
    for (int64_t i = 0; i < n; ++i) out[i] = static_cast<T>(static_cast<C>(stream.normal() * p.b + p.a));
    return;
  }
  C block[16];
  const auto fill = [&](T* at) {
    transform_block(block, static_cast<C>(p.a), static_cast<C>(p.b));
    for (int j = 0; j < 16; ++j) at[j] = static_cast<T>(block[j]);
  };
  const auto fresh = [&] {
    for (C& x : block) x = uniform<T>(stream);
  };
  if constexpr (std::is_same_v<T, C>) {
    for (int64_t i = 0; i < n; ++i) out[i] = uniform<T>(stream);
    for (int64_t i = 0; i + 16 <= n; i += 16) {
      std::copy_n(out + i, 16, block);
      fill(out + i);
    }
  } else {
    for (int64_t i = 0; i + 16 <= n; i += 16) {
      fresh();
      fill(out + i);
    }
  }
  if (n % 16 == 0) return;
  fresh();
  fill(out + n - 16);
}

template <class T>
void draw(ops::Exponential, MersenneStream& stream, const RandomParameters& p, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i)
    out[i] = static_cast<T>(static_cast<Computed<T>>(-std::log1p(-stream.uniform_double()) / p.a));
}

template <class T>
T number(int64_t value) {
  if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>)
    return T(static_cast<float>(value));
  else
    return static_cast<T>(value);
}

template <class T>
void draw(ops::Bernoulli, MersenneStream& stream, const RandomParameters& p, T* out, int64_t n) {
  for (int64_t i = 0; i < n; ++i) out[i] = number<T>(stream.uniform_double() < p.a ? 1 : 0);
}

// Ranges from 2^28 on, and range 0, which stands for 2^64, take two words. random_() without bounds is the exception: it
// takes one where the type's values have at most 32 bits.
template <class Op, class T>
requires(std::is_same_v<Op, ops::RandomInteger> ||
         std::is_same_v<Op, ops::RandomWideInteger>) void draw(Op, MersenneStream& stream, const RandomParameters& p,
                                                               T* out, int64_t n) {
  const bool wide = (p.range >= uint64_t{1} << 28 || p.range == 0) && !(p.a == 1 && sizeof(T) <= 4);
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t bits = wide ? stream.word64() : stream.word();
    const uint64_t value = p.range == 0 ? bits : static_cast<uint64_t>(p.base) + bits % p.range;
    out[i] = number<T>(static_cast<int64_t>(value));
  }
}

template <class T>
void sample_rows(MersenneStream& stream, const Tensor& weights, int64_t samples, int64_t* out) {
  const int64_t columns = weights.size(1);
  std::vector<T> sums(static_cast<std::size_t>(columns));
  for (int64_t r = 0; r < weights.size(0); ++r) {
    const T* w = weights.ptr<T>() + r * columns;
    T sum = 0;
    for (int64_t c = 0; c < columns; ++c) sums[static_cast<std::size_t>(c)] = sum += w[c];
    for (T& s : sums) s /= sum;
    // Rounding must not exclude the last column with a weight.
    const auto last = std::lower_bound(sums.begin(), sums.end(), sums.back());
    for (int64_t k = 0; k < samples; ++k) {
      const double u = stream.uniform_double();
      *out++ = std::lower_bound(sums.begin(), last, u, [](T s, double x) { return static_cast<double>(s) < x; }) -
               sums.begin();
    }
  }
}

}  // namespace

Dims memory_order(const Tensor& t) {
  Dims order(static_cast<std::size_t>(t.dim()), 0);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int64_t a, int64_t b) { return t.stride(a) > t.stride(b); });
  return order;
}
Tensor permute_back(const Tensor& t, const Dims& order) {
  Dims back(order.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) back[static_cast<std::size_t>(order[i])] = static_cast<int64_t>(i);
  return t.permute(back);
}
Tensor empty_in_order(const Tensor& like, const TensorOptions& options) {
  const Dims order = memory_order(like);
  return permute_back(empty(like.detach().permute(order).sizes(), options.memory_format(MemoryFormat::Contiguous)),
                      order);
}

template <class Op>
void mersenne_fill(const Tensor& out, const Generator& generator, const RandomParameters& parameters) {
  if (!out.is_contiguous()) {
    const Tensor ordered = out.permute(memory_order(out));
    const bool dense = ordered.is_contiguous();
    const Tensor filled = dense ? ordered : empty_raw(ordered.sizes(), out.dtype(), out.device());
    RandomParameters p = parameters;
    if constexpr (std::is_same_v<Op, ops::Normal>) p.base = 1;
    mersenne_fill<Op>(filled, generator, p);
    if (!dense) copy_raw(ordered, filled);
    return;
  }
  MersenneStream stream(generator);
  dispatch(out.dtype(), typename Op::Types{}, Op::name,
           [&]<class T>(Type<T>) { draw(Op(), stream, parameters, out.ptr<T>(), out.numel()); });
}
template void mersenne_fill<ops::Uniform>(const Tensor&, const Generator&, const RandomParameters&);
template void mersenne_fill<ops::Normal>(const Tensor&, const Generator&, const RandomParameters&);
template void mersenne_fill<ops::Exponential>(const Tensor&, const Generator&, const RandomParameters&);
template void mersenne_fill<ops::Bernoulli>(const Tensor&, const Generator&, const RandomParameters&);
template void mersenne_fill<ops::RandomInteger>(const Tensor&, const Generator&, const RandomParameters&);
template void mersenne_fill<ops::RandomWideInteger>(const Tensor&, const Generator&, const RandomParameters&);

// Fisher and Yates, from the front; from 2^32 / 20 on from the back, with two words each.
Tensor mersenne_permutation(int64_t n, const Generator& generator) {
  Tensor out = empty_raw({n}, kLong, Device(kCPU, 0));
  int64_t* order = out.ptr<int64_t>();
  MersenneStream stream(generator);
  for (int64_t i = 0; i < n; ++i) order[i] = i;
  if (n < int64_t{UINT32_MAX} / 20) {
    for (int64_t i = 0; i + 1 < n; ++i) std::swap(order[i], order[i + int64_t{stream.word()} % (n - i)]);
    return out;
  }
  for (int64_t i = 0; i < n; ++i) {
    const auto at = static_cast<int64_t>(stream.word64() % static_cast<uint64_t>(i + 1));
    order[i] = order[at];
    order[at] = i;
  }
  return out;
}

namespace {

// Below a rate of 10, counts the uniform numbers whose product stays above exp(-rate). From there on W. Hörmann's
// transformed rejection, PTRS (The transformed rejection method for generating Poisson random variables, 1993).
double poisson(MersenneStream& stream, double rate) {
  if (rate == 0) return 0;
  if (rate < 10) {
    const double least = std::exp(-rate);
    double count = 0;
    for (double product = stream.uniform_double(); product > least; product *= stream.uniform_double()) ++count;
    return count;
  }
  const double root = std::sqrt(rate), log_rate = std::log(rate), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b,
               inverse_alpha = 1.1239 + 1.1328 / (b - 3.4), v_r = 0.9277 - 3.6224 / (b - 2);
  for (;;) {
    const double u = stream.uniform_double() - 0.5, v = stream.uniform_double(), u_s = 0.5 - std::abs(u);
    const double k = std::floor((2 * a / u_s + b) * u + rate + 0.43);
    if (u_s >= 0.07 && v <= v_r) return k;
    if (k < 0 || (u_s < 0.013 && v > u_s)) continue;
    if (std::log(v) + std::log(inverse_alpha) - std::log(a / (u_s * u_s) + b) <=
        -rate + k * log_rate - std::lgamma(k + 1))
      return k;
  }
}

}  // namespace

Tensor mersenne_slopes(const Tensor& drawn, double from, double to, const Generator& generator) {
  Tensor out = empty_raw(drawn.sizes(), kDouble, drawn.device());
  MersenneStream stream(generator);
  for (int64_t i = 0; i < drawn.numel(); ++i)
    out.ptr<double>()[i] = drawn.ptr<bool>()[i] ? stream.uniform_double() * (to - from) + from : 1;
  return out;
}

namespace {

// G. Marsaglia and W. Tsang, A simple method for generating gamma variables (2000). Constants are float32, as PyTorch's.
template <class T>
T gamma(MersenneStream& stream, T shape) {
  if (shape == 0) return 0;
  double scale = 1;
  if (shape < 1) {
    scale = std::pow(1 - stream.uniform_double(), 1.0f / shape);
    shape += 1.0f;
  }
  const double d = shape - 1.0f / 3.0f, c = 1 / std::sqrt(9 * d);
  for (;;) {
    double x, root;
    do {
      x = stream.normal();
      root = 1 + c * x;
    } while (root <= 0);
    const double v = root * root * root, u = 1 - stream.uniform_double(), square = x * x;
    if (u < 1 - 0.0331f * square * square || std::log(u) < 0.5 * square + d * (1 - v + std::log(v)))
      return static_cast<T>(scale * d * v);
  }
}

// For ops::binomial.
struct Uniforms {
  MersenneStream& stream;
  double next() { return stream.uniform_double(); }
  void next(double& u, double& v) {
    u = next();
    v = next();
  }
};

}  // namespace

Tensor mersenne_gamma(const Tensor& shapes, const Generator& generator) {
  Tensor out = empty_raw(shapes.sizes(), shapes.dtype(), shapes.device());
  MersenneStream stream(generator);
  dispatch(shapes.dtype(), TypeList<float, double>{}, "_standard_gamma", [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < shapes.numel(); ++i)
      out.ptr<T>()[i] = std::max(std::numeric_limits<T>::min(), gamma(stream, shapes.ptr<T>()[i]));
  });
  return out;
}

Tensor mersenne_binomial(const Tensor& counts, const Tensor& probabilities, const Generator& generator) {
  Tensor out = empty_raw(counts.sizes(), kDouble, counts.device());
  MersenneStream stream(generator);
  for (int64_t i = 0; i < counts.numel(); ++i)
    out.ptr<double>()[i] = ops::binomial(counts.ptr<double>()[i], probabilities.ptr<double>()[i], Uniforms{stream});
  return out;
}

Tensor mersenne_bernoulli(const Tensor& p, const Generator& generator) {
  Tensor out = empty_raw(p.sizes(), p.dtype(), p.device());
  MersenneStream stream(generator);
  dispatch(p.dtype(), TypeList<float, double>{}, "bernoulli", [&]<class T>(Type<T>) {
    for (int64_t i = 0; i < p.numel(); ++i) out.ptr<T>()[i] = uniform<T>(stream) < p.ptr<T>()[i] ? T(1) : T(0);
  });
  return out;
}

Tensor mersenne_poisson(const Tensor& rates, const Generator& generator) {
  Tensor out = empty_raw(rates.sizes(), kDouble, rates.device());
  MersenneStream stream(generator);
  for (int64_t i = 0; i < rates.numel(); ++i) out.ptr<double>()[i] = poisson(stream, rates.ptr<double>()[i]);
  return out;
}

Tensor mersenne_multinomial(const Tensor& weights, int64_t samples, const Generator& generator) {
  Tensor out = empty_raw({weights.size(0), samples}, kLong, weights.device());
  MersenneStream stream(generator);
  dispatch(weights.dtype(), TypeList<float, double>{}, "multinomial",
           [&]<class T>(Type<T>) { sample_rows<T>(stream, weights, samples, out.ptr<int64_t>()); });
  return out;
}

}  // namespace tandem::autograd
