// Operators that draw random numbers: from the default generator, or each time the same ones after a seed.
#include <bit>

#include "tandem/onnx/operators.h"

namespace tandem::onnx {
namespace {

// ONNX's seed is a fraction; any number of its bits is as good as another.
optional<Generator> generator(Call& c) {
  return c.has("seed") ? optional<Generator>(std::bit_cast<uint64_t>(c.number("seed"))) : nullopt;
}

Tensor normal_of(Call& c, IntArrayRef sizes, ScalarType type) {
  return normal(c.number("mean", 0), c.number("scale", 1), sizes, generator(c),
                TensorOptions(c.dtype("dtype", type)).device(c.device()));
}
Tensor uniform_of(Call& c, IntArrayRef sizes, ScalarType type) {
  const TensorOptions options = TensorOptions(c.dtype("dtype", type)).device(c.device());
  return empty(sizes, options).uniform_(c.number("low", 0), c.number("high", 1), generator(c));
}

Tensor bernoulli_of(Call& c) { return bernoulli(c[0], generator(c)).to(c.dtype("dtype", c[0].scalar_type())); }

Tensor multinomial_of(Call& c) {
  check(c[0].dim() == 2, "expected [batch, classes], got ", c[0]);
  return multinomial(softmax(c[0], 1), c.integer("sample_size", 1), true, generator(c)).to(c.dtype("dtype", kInt));
}

}  // namespace

Operators random_operators() {
  return {
      {"Bernoulli", bernoulli_of},
      {"Multinomial", multinomial_of},
      {"RandomNormal", [](Call& c) { return normal_of(c, c.integers("shape"), kFloat); }},
      {"RandomNormalLike", [](Call& c) { return normal_of(c, c[0].sizes(), c[0].scalar_type()); }},
      {"RandomUniform", [](Call& c) { return uniform_of(c, c.integers("shape"), kFloat); }},
      {"RandomUniformLike", [](Call& c) { return uniform_of(c, c[0].sizes(), c[0].scalar_type()); }},
  };
}

}  // namespace tandem::onnx
