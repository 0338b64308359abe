// Which inputs of a custom function need a gradient.
#include <doctest/doctest.h>

#include <string>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/function.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/tests/autograd/leaf.h"

using namespace tandem;
using autograd::AutogradContext;
using autograd::Function;
using autograd::variable_list;
using testing::leaf;

// The expected answers are those of LibTorch 2.15.
TEST_CASE("needs_input_grad counts tensors, and knows the inputs chosen for a pass") {
  static std::string answers;  // for inputs 0 and 1
  struct Ask : Function<Ask> {
    static Tensor forward(AutogradContext*, optional<Tensor> first, Tensor second, double factor, Tensor third) {
      return (first && first->defined() ? *first + second + third : second + third) * factor;
    }
    static variable_list backward(AutogradContext* ctx, variable_list g) {
      answers = {ctx->needs_input_grad(0) ? '1' : '0', ctx->needs_input_grad(1) ? '1' : '0'};
      return {Tensor(), g[0], Tensor(), g[0]};
    }
  };
  const Tensor a = leaf(1, {1}), b = leaf(1, {1}), constant = ones({1}, kDouble);
  const optional<Tensor> none, undefined = Tensor(), given = constant;
  const auto asked = [](const Tensor& y, std::vector<Tensor> inputs = {}) {
    answers = "";
    autograd::backward({y}, {}, nullopt, false, inputs);
    return answers;
  };
  CHECK(asked(Ask::apply(none, a, 2.0, b)) == "11");
  CHECK(asked(Ask::apply(nullopt, a, 2.0, b)) == "11");
  CHECK(asked(Ask::apply(none, constant, 2.0, b)) == "01");
  CHECK(asked(Ask::apply(undefined, constant, 2.0, b)) == "01");
  CHECK(asked(Ask::apply(given, a, 2.0, constant)) == "01");
  CHECK(asked(Ask::apply(constant, a, 2.0, constant)) == "01");
  CHECK(asked(Ask::apply(none, a, 2.0, b), {b}) == "01");
  const Tensor h = a * 1;
  autograd::grad({Ask::apply(none, h, 2.0, b)}, {h});
  CHECK(answers == "10");
}
