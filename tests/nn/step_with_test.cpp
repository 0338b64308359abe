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
  optimizer.step_with({p.grad(), {full({1}, 2.0), full({1}, 3.0)}});
  CHECK(optimizer.seen == 6);
  CHECK(p.item<float>() == -6);
}

TEST_CASE("a sum counts as a write of the gradient") {
  const Tensor p = zeros({1}, requires_grad()), w = ones({1}, requires_grad());
  p.mutable_grad() = ones({1});
  const Tensor loss = (w * p.grad()).sum();
  optim::SGD(std::vector<Tensor>{p}, 1.0).step_with({p.grad(), {ones({1})}});
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("SGD"), Error);
}

TEST_CASE("step_with refuses what it cannot sum") {
  const Tensor p = zeros({2, 3}, requires_grad()), own = ones({6}), g = ones({6});
  optim::SGD optimizer({p}, 0.1);
  const auto refuses = [&](const Tensor& flat, const Tensor& other, const char* text) {
    CHECK_THROWS_WITH_AS(optimizer.step_with({flat, {other}}), doctest::Contains(text), Error);
  };
  refuses(own, g, "no view of the flat one");
  p.mutable_grad() = ones({2, 3});
  refuses(own, g, "no view of the flat one");
  p.mutable_grad() = own.view({2, 3});
  refuses(own.narrow(0, 1, 5), ones({5}), "no view of the flat one");
  refuses(Tensor(), g, "no flat gradients");
  refuses(own, ones({7}), "summands of a gradient differ");
  refuses(own, ones({12}).slice(0, 0, 12, 2), "summands of a gradient differ");
  refuses(own, ones({6}, kDouble), "summands of a gradient differ");
  refuses(own, Tensor(), "summands of a gradient differ");
  CHECK(p.abs().max().item<float>() == 0);
  CHECK(own.sum().item<float>() == 6);
  optimizer.step();  // nothing is left behind
  CHECK(p.min().item<float>() == doctest::Approx(-0.1));
}
