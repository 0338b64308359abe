// Elementwise functions: of arguments of all sizes, of tensors with strides, and their gradients.
#include "tandem/autograd/ops/pointwise/special.h"
#include "tandem/tests/cuda/strict.h"

using namespace tandem;

namespace {

constexpr ScalarType kTypes[] = {kFloat, kDouble, kBFloat16, kHalf};

// Numbers of all sizes, with every other column left out.
Tensor of_all_sizes(ScalarType type, double largest) {
  const Tensor x = randn({37, 90}, kDouble) * exp2(rand({37, 90}, kDouble) * largest);
  return x.to(type).slice(1, 0, 90, 2);
}

using Function = Tensor (*)(const Tensor&);

}  // namespace

TEST_CASE("strict: functions") {
  if (!is_strict_device()) return;
  const Function functions[] = {[](const Tensor& x) { return x.exp(); },
                                [](const Tensor& x) { return x.exp2(); },
                                [](const Tensor& x) { return x.expm1(); },
                                [](const Tensor& x) { return (x.abs() + 1e-3).log(); },
                                [](const Tensor& x) { return x.abs().log2(); },
                                [](const Tensor& x) { return x.abs().log10(); },
                                [](const Tensor& x) { return x.abs().log1p(); },
                                [](const Tensor& x) { return x.sin(); },
                                [](const Tensor& x) { return x.cos(); },
                                [](const Tensor& x) { return x.tan(); },
                                [](const Tensor& x) { return x.atan(); },
                                [](const Tensor& x) { return x.sinh(); },
                                [](const Tensor& x) { return x.cosh(); },
                                [](const Tensor& x) { return x.tanh(); },
                                [](const Tensor& x) { return x.asinh(); },
                                [](const Tensor& x) { return x.sigmoid(); },
                                [](const Tensor& x) { return x.erf(); },
                                [](const Tensor& x) { return x.erfc(); },
                                [](const Tensor& x) { return x.lgamma(); },
                                [](const Tensor& x) { return digamma(x); },
                                [](const Tensor& x) { return special_bessel_j0(x); }};
  std::size_t i = 0;
  for (const Function f : functions)
    for (const ScalarType type : kTypes)
      for (const double octaves : {1.0, 4.0, 30.0}) {
        CAPTURE(i);
        CAPTURE(octaves);
        if (octaves > 4 && type == kHalf) continue;
        same([f](const Tensors& x) { return f(x[0]).nan_to_num(1, 2, 3); }, {of_all_sizes(type, octaves)},
             octaves == 1);
        ++i;
      }
}

TEST_CASE("strict: powers") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes) {
    const Tensor base = randn({33, 70}).to(type), positive = rand({33, 70}).add(0.1).to(type);
    same([](const Tensors& x) { return x[0].pow(x[1]); }, {positive, randn({70}).mul(3).to(type)});
    for (const double exponent : {-2.0, 0.5, 3.0, 7.0}) {
      same([exponent](const Tensors& x) { return x[0].pow(exponent); }, {positive});
      same([exponent](const Tensors& x) { return x[0].pow(exponent).nan_to_num(); }, {base}, false);
    }
    same([](const Tensors& x) { return x[0].pow(2.5).nan_to_num(); }, {empty({0, 3}, type)}, false);
  }
}

TEST_CASE("strict: elementwise chains") {
  if (!is_strict_device()) return;
  for (const ScalarType type : kTypes)
    same([](const Tensors& x) { return (x[0].exp() * x[1].tanh() / (x[0].square() + 1)).sigmoid(); },
         {randn({33, 70}).to(type), randn({70}).to(type)});
}
