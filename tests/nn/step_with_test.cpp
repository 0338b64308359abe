// Optimizer::step_with: gradients of several devices, summed in the optimizer's own pass.
#include <doctest/doctest.h>

#include "tandem/tests/nn/step_with.h"

using namespace tandem;
using testing::identical;

TEST_CASE("step_with is a step with the sum, bit for bit") {
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t size : {1, 7, 4096, 40003})
      for (const std::size_t others : {1u, 2u, 9u}) test_step_with(Device("cpu:0"), dtype, size, others);
}

namespace {
// Looks at gradients before the step, as one that clips them does.
struct Clipping : optim::SGD {
  using SGD::SGD;
  Tensor step(LossClosure closure = nullptr) override {
    seen = param_groups()[0].params()[0].grad().item<double>();
    return SGD::step(closure);
  }
  double seen = 0;
};
}  // namespace

TEST_CASE("an optimizer derived from one gets the sum before its step") {
  const Tensor p = zeros({1}, requires_grad());
  p.mutable_grad() = ones({1});
  Clipping optimizer(std::vector<Tensor>{p}, 1.0);
  CHECK(!optimizer.sums_gradients());
  optimizer.step_with({full({1}, 2.0), full({1}, 3.0)});
  CHECK(optimizer.seen == 6);
  CHECK(p.item<float>() == -6);
}

TEST_CASE("step_with refuses what it cannot sum") {
  const Tensor p = zeros({2, 3}, requires_grad()), q = zeros({2}, requires_grad());
  optim::SGD one({p}, 0.1), two({p, q}, 0.1);
  const auto refuses = [](optim::Optimizer& o, const Tensor& other, const char* text) {
    CHECK_THROWS_WITH_AS(o.step_with(other), doctest::Contains(text), Error);
  };
  refuses(one, ones({2, 3}), "no dense gradient");
  p.mutable_grad() = ones({2, 3});
  refuses(two, ones({2, 3}), "one parameter alone, there are 2");
  refuses(one, ones({3, 2}), "summands of a gradient differ");
  refuses(one, ones({3, 2}).t(), "summands of a gradient differ");
  refuses(one, ones({2, 3}, kDouble), "summands of a gradient differ");
  refuses(one, Tensor(), "summands of a gradient differ");
  CHECK(p.abs().max().item<float>() == 0);
  one.step();  // nothing is left behind
  CHECK(p.min().item<float>() == doctest::Approx(-0.1));
}
