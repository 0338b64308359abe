// Optimizer::step_with: gradients of several devices, summed in the optimizer's pass.
#include <doctest/doctest.h>

#include "tandem/tests/nn/optim/step_with.h"

using namespace tandem;
using testing::identical;

TEST_CASE("step_with equals a step with the sum, bit for bit") {
  for (const ScalarType dtype : {kFloat, kDouble})
    for (const int64_t size : {1, 7, 4096, 40003})
      for (const std::size_t others : {1u, 2u, 9u}) test_step_with(Device("cpu:0"), dtype, size, others);
}

namespace {
// Inspects gradients before the step, as gradient clipping does.
struct Clipping : optim::SGD {
  using SGD::SGD;
  Tensor step(LossClosure closure = nullptr) override {
    seen = param_groups()[0].params()[0].grad().item<double>();
    return SGD::step(closure);
  }
  double seen = 0;
};
}  // namespace

TEST_CASE("a derived optimizer sees the summed gradient before its step") {
  const Tensor p = zeros({1}, requires_grad());
  p.mutable_grad() = ones({1});
  Clipping optimizer(std::vector<Tensor>{p}, 1.0);
  CHECK(!optimizer.sums_gradients());
  optimizer.step_with({p.grad(), {full({1}, 2.0), full({1}, 3.0)}});
  CHECK(optimizer.seen == 6);
  CHECK(p.item<float>() == -6);
}

TEST_CASE("summing bumps the gradient's version") {
  const Tensor p = zeros({1}, requires_grad()), w = ones({1}, requires_grad());
  p.mutable_grad() = ones({1});
  const Tensor loss = (w * p.grad()).sum();
  optim::SGD(std::vector<Tensor>{p}, 1.0).step_with({p.grad(), {ones({1})}});
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("SGD"), Error);
}

TEST_CASE("step_with rejects gradients that it cannot sum") {
  const Tensor p = zeros({2, 3}, requires_grad()), own = ones({6}), g = ones({6});
  optim::SGD optimizer({p}, 0.1);
  const auto refuses = [&](const Tensor& flat, const Tensor& other, const char* text) {
    CHECK_THROWS_WITH_AS(optimizer.step_with({flat, {other}}), doctest::Contains(text), Error);
  };
  refuses(own, g, "not a view of the flat gradients");
  p.mutable_grad() = ones({2, 3});
  refuses(own, g, "not a view of the flat gradients");
  p.mutable_grad() = own.view({2, 3});
  refuses(own.narrow(0, 1, 5), ones({5}), "not a view of the flat gradients");
  refuses(Tensor(), g, "expected contiguous flat gradients");
  refuses(own, ones({7}), "flat gradients differ in size, dtype or device");
  refuses(own, ones({12}).slice(0, 0, 12, 2), "flat gradients differ in size, dtype or device");
  refuses(own, ones({6}, kDouble), "flat gradients differ in size, dtype or device");
  refuses(own, Tensor(), "flat gradients differ in size, dtype or device");
  CHECK(p.abs().max().item<float>() == 0);
  CHECK(own.sum().item<float>() == 6);
  optimizer.step();  // no state is left behind
  CHECK(p.min().item<float>() == doctest::Approx(-0.1));
}
