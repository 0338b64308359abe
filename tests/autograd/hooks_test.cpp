// Hooks: they may remove themselves and each other, and must return matching gradients; retain_grad follows
// the tensor.
#include "tandem/autograd/hooks.h"

#include <doctest/doctest.h>

#include <memory>
#include <stdexcept>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/meta.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/autograd/leaf.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("a hook removes itself while it runs; later hooks still run") {
  for (bool on_leaf : {true, false}) {
    Tensor x = leaf(1), y = on_leaf ? x : x * 2;
    int calls = 0;
    unsigned self = 0;
    const std::string text(100, 'a');  // captured state that must outlive the removal
    self = y.register_hook([&, text](const Tensor&) {
      y.remove_hook(self);
      calls += static_cast<int>(text.size());
    });
    y.register_hook([&](const Tensor&) { ++calls; });
    (y * 3).sum().backward(Tensor(), true);
    CHECK(calls == 101);
    (y * 3).sum().backward(Tensor(), true);
    CHECK(calls == 102);
  }
}

TEST_CASE("post-accumulate hooks remove themselves and add others") {
  Tensor x = leaf(1);
  int calls = 0;
  unsigned self = 0;
  const std::string text(100, 'a');
  self = x.register_post_accumulate_grad_hook([&, text](const Tensor& t) {
    x.remove_hook(self);
    calls += static_cast<int>(text.size());
    for (int i = 0; i < 20; ++i) t.register_post_accumulate_grad_hook([&](const Tensor&) { ++calls; });
  });
  (x * 3).sum().backward();
  CHECK(calls == 100);
  (x * 3).sum().backward();
  CHECK(calls == 120);
}

TEST_CASE("a hook that is told before a gradient is added can refuse it") {
  struct Hook final : autograd::AccumulationHook {
    void before(const Tensor& leaf) override {
      seen.push_back(leaf.grad().defined() ? leaf.grad()[0].item<double>() : -1);
      if (seen.size() == 3) throw std::runtime_error("refused");
    }
    Tensor call(const Tensor& leaf) override {
      seen.push_back(leaf.grad()[0].item<double>());
      return {};
    }
    std::vector<double> seen;
  };
  const Tensor x = leaf(1);
  const auto hook = std::make_shared<Hook>();
  const unsigned handle = autograd::add_post_accumulate_hook(x, hook);
  autograd::grad({(x * 3).sum()}, {x});
  CHECK(hook->seen.empty());
  (x * 3).sum().backward();
  CHECK(hook->seen == std::vector<double>{-1, 3});
  hook->seen.push_back(0);
  hook->seen.erase(hook->seen.begin());
  CHECK_THROWS_WITH((x * 3).sum().backward(), "refused");
  CHECK(x.grad()[0].item<double>() == 3);
  x.remove_hook(handle);
  (x * 3).sum().backward();
  CHECK(x.grad()[0].item<double>() == 6);
  CHECK(hook->seen == std::vector<double>{3, 0, 3});
}

TEST_CASE("hooks registered by a hook first run in the next backward") {
  Tensor x = leaf(1);
  int calls = 0;
  x.register_hook([&](const Tensor&) {
    ++calls;
    for (int i = 0; i < 50; ++i) x.register_hook([&](const Tensor&) { calls += 100; });
  });
  (x * 3).sum().backward();
  CHECK(calls == 1);
}

TEST_CASE("removing a hook that does not exist does nothing") {
  Tensor plain = ones({2}), x = leaf(1);
  plain.remove_hook(1);
  x.remove_hook(0);
  x.remove_hook(~0u);
  int calls = 0;
  const unsigned handle = x.register_hook([&](const Tensor&) { ++calls; });
  x.remove_hook(handle + 1000000);
  (x * 3).sum().backward();
  CHECK(calls == 1);
  x.requires_grad_(false);
  x.remove_hook(handle);
  x.remove_hook(handle);
  x.requires_grad_(true);
  (x * 3).sum().backward();
  CHECK(calls == 1);
}

TEST_CASE("a hook's gradient must match the shape, dtype and device of the one it replaces") {
  Tensor x = leaf(1);
  const unsigned wrong = x.register_hook([](const Tensor& g) { return g.to(kFloat); });
  CHECK_THROWS_WITH_AS((x * 2).sum().backward(), doctest::Contains("tensor hook: returned gradient [2] float32"),
                       Error);
  x.remove_hook(wrong);
  Tensor y = x * 2;
  y.register_hook([](const Tensor& g) { return g.sum(); });
  CHECK_THROWS_WITH_AS(y.sum().backward(), doctest::Contains("tensor hook"), Error);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("an exception from a hook arrives unchanged") {
  Tensor x = leaf(1), y = x * 2;
  y.register_hook([](const Tensor&) -> Tensor { throw std::runtime_error("mine"); });
  CHECK_THROWS_WITH_AS(y.sum().backward(), "mine", std::runtime_error);
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("hooks under create_graph are recorded; a hook may run backward") {
  Tensor x = leaf(3), y = x * x;
  y.register_hook([&](const Tensor& g) { return g * x; });
  const Tensor g = autograd::grad({y.sum()}, {x}, {}, nullopt, true)[0];
  CHECK(show(g) == "[2] 18 18");  // 2 x * x
  CHECK(show(autograd::grad({g.sum()}, {x})[0]) == "[2] 12 12");
  Tensor inner = leaf(1), z = x * 2;
  z.register_hook([&](const Tensor&) {
    AutoGradMode record(true);
    (inner * inner).sum().backward();
  });
  z.sum().backward();
  CHECK(show(inner.grad()) == "[2] 2 2");
  CHECK(show(x.grad()) == "[2] 2 2");
}

TEST_CASE("retain_grad follows a tensor written in place") {
  Tensor x = leaf(1), y = x * 2;
  y.retain_grad();
  y.mul_(3);
  (y * 5).sum().backward();
  CHECK(show(y.grad()) == "[2] 5 5");
  CHECK(show(x.grad()) == "[2] 30 30");
}

TEST_CASE("retain_grad of a view follows a write to its base") {
  Tensor x = leaf(1, {4}), y = x * 2, v = y.slice(0, 0, 2);
  v.retain_grad();
  y.mul_(3);
  (v * 5).sum().backward();
  CHECK(show(v.grad()) == "[2] 5 5");
  CHECK(show(x.grad()) == "[4] 30 30 0 0");
}

TEST_CASE("retain_grad ends with detach_") {
  Tensor x = leaf(1), y = x * 2;
  y.retain_grad();
  y.detach_();
  CHECK_FALSE(y.retains_grad());
  CHECK(y.is_leaf());
  y.requires_grad_();
  (y * 5).sum().backward();
  CHECK(show(y.grad()) == "[2] 5 5");
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("a hook registered before a write sees the gradient of the tensor before the write") {
  Tensor x = leaf(1), y = x * 2;
  std::vector<double> seen;
  const unsigned handle = y.register_hook([&](const Tensor& g) { seen.push_back(values(g)[0]); });
  y.mul_(3);
  (y * 5).sum().backward(Tensor(), true);
  CHECK(seen == std::vector<double>{15});
  y.remove_hook(handle);  // it belongs to the history before the write: nothing to find
  CHECK(show(x.grad()) == "[2] 30 30");
}
