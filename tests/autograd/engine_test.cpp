// The engine: values, accumulation, long chains, freed graphs, second derivatives, hooks.
#include "tandem/autograd/engine.h"

#include <doctest/doctest.h>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/unary.h"
#include "tandem/autograd/ops/random/random.h"

using namespace tandem;

TEST_CASE("gradient of a product") {
  Tensor x = full({3}, 2.0, requires_grad());
  Tensor y = full({3}, 5.0, requires_grad());
  ((x * y) + x).sum().backward();
  CHECK(x.grad().data_ptr<float>()[1] == 6);
  CHECK(y.grad().data_ptr<float>()[2] == 2);
  (x * 3).sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == 9);
}

TEST_CASE("broadcast gradients are summed to the argument's shape") {
  Tensor x = ones({2, 3}, requires_grad()), b = ones({3}, requires_grad());
  (x * b).sum().backward();
  CHECK(b.grad().sizes() == IntArrayRef{3});
  CHECK(b.grad().data_ptr<float>()[0] == 2);
}

TEST_CASE("second derivatives") {
  Tensor x = full({1}, 3.0, TensorOptions(kDouble).requires_grad(true));
  Tensor y = x * x * x;
  Tensor g = autograd::grad({y}, {x}, {}, nullopt, /*create_graph=*/true)[0];
  CHECK(g.item<double>() == 27);
  Tensor h = autograd::grad({g}, {x})[0];
  CHECK(h.item<double>() == 18);
}

TEST_CASE("a chain of 100,000 operations") {
  Tensor x = ones({1}, requires_grad());
  Tensor y = x;
  for (int i = 0; i < 100000; ++i) y = y + 1;
  y.backward();
  CHECK(x.grad().item<float>() == 1);
}

TEST_CASE("backward through a freed graph throws") {
  Tensor x = ones({2}, requires_grad());
  Tensor y = (x * x).sum();
  y.backward();
  CHECK_THROWS_WITH_AS(y.backward(), doctest::Contains("retain_graph"), Error);
}

TEST_CASE("hooks replace gradients") {
  Tensor x = ones({2}, requires_grad());
  Tensor y = x * 2;
  y.register_hook([](const Tensor& g) { return g * 10; });
  int seen = 0;
  x.register_post_accumulate_grad_hook([&](const Tensor& leaf) { seen += static_cast<int>(leaf.grad().numel()); });
  y.sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == 20);
  CHECK(seen == 2);
}

TEST_CASE("gradients of unary operations are written where nobody else sees them") {
  const Tensor x = randn({4, 5}, requires_grad());
  const Tensor first = x * 2, second = first.tanh(), third = second.relu();
  const void *at_second = nullptr, *at_first = nullptr;
  Tensor held, copied;
  const auto keep = [&](const Tensor& g) { held = g, copied = g.clone(); };
  third.retain_grad();
  second.register_hook([&](const Tensor& g) { at_second = g.data_ptr(); });
  first.register_hook([&](const Tensor& g) { at_first = g.data_ptr(); });
  const Tensor given = randn({4, 5}), before = given.clone();
  third.backward(given, /*retain_graph=*/true);
  CHECK(given.equal(before));
  CHECK(third.grad().equal(before));
  CHECK(at_second != given.data_ptr());
  CHECK(at_first == at_second);  // nobody else has the gradient of `second`
  const Tensor expected = x.grad().clone();
  x.mutable_grad().reset();
  second.register_hook(keep);
  third.backward(given, /*retain_graph=*/true);
  CHECK(held.equal(copied));
  CHECK(at_first != held.data_ptr());
  CHECK(x.grad().equal(expected));
  // Both operands of a sum get the same gradient.
  x.mutable_grad().reset();
  (x.tanh() + x.sigmoid()).backward(given);
  const Tensor t = x.tanh().detach(), s = x.sigmoid().detach();
  CHECK((x.grad() - given * (1 - t * t) - given * s * (1 - s)).abs().max().item<float>() < 1e-6);
}

TEST_CASE("mm") {
  Tensor a = arange(6, kDouble).view({2, 3}).requires_grad_(), b = arange(12, kDouble).view({3, 4}).requires_grad_();
  Tensor c = mm(a, b);
  CHECK(c.data_ptr<double>()[0] == 0 * 0 + 1 * 4 + 2 * 8);
  c.sum().backward();
  CHECK(a.grad().data_ptr<double>()[1] == 4 + 5 + 6 + 7);
  CHECK(b.grad().data_ptr<double>()[0] == 3);
}

TEST_CASE("relu with create_graph") {
  Tensor x = arange(-2, 3, kDouble).requires_grad_();
  Tensor y = (relu(x) * x).sum();
  Tensor g = autograd::grad({y}, {x}, {}, nullopt, true)[0];
  CHECK(g.data_ptr<double>()[4] == 4);
  Tensor h = autograd::grad({g.sum()}, {x})[0];
  CHECK(h.data_ptr<double>()[4] == 2);
  CHECK(h.data_ptr<double>()[0] == 0);
}
