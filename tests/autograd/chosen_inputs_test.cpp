// autograd::grad and backward for chosen inputs: only the nodes that lead to them run, see hooks and are
// freed.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/hooks.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/autograd/leaf.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("the graph beyond a chosen input is not freed") {
  Tensor x = leaf(1), h = (x * 2).exp();
  const Tensor y = (h * h).sum();
  CHECK(autograd::grad({y}, {h})[0].sizes() == h.sizes());
  const Tensor g = autograd::grad({h.sum()}, {x})[0];  // exp's saved output is still available
  CHECK(values(g)[0] == doctest::Approx(2 * std::exp(2.0)));
  CHECK_THROWS_WITH_AS(autograd::grad({y}, {h}), doctest::Contains("retain_graph"), Error);
}

TEST_CASE("unneeded nodes are not freed, and their saved tensors may be overwritten") {
  Tensor a = leaf(3), w = leaf(2), b = w * w;
  const Tensor y = (a * b).sum();
  {
    NoGradGuard guard;
    w.add_(1);  // the backward of w * w could no longer run
  }
  CHECK(show(autograd::grad({y}, {a})[0]) == "[2] 4 4");
  CHECK_THROWS_WITH_AS(b.sum().backward(), doctest::Contains("overwritten"), Error);
  Tensor c = leaf(5), d = c * c, z = (d * a).sum();
  autograd::grad({z}, {a});
  d.sum().backward();
  CHECK(show(c.grad()) == "[2] 10 10");
}

TEST_CASE("hooks and retain_grad of unneeded nodes do not run") {
  Tensor a = leaf(3), x = leaf(2), b = x * 2;
  b.retain_grad();
  int calls = 0;
  b.register_hook([&](const Tensor&) { ++calls; });
  x.register_hook([&](const Tensor&) { ++calls; });
  CHECK(show(autograd::grad({(a * b).sum()}, {a})[0]) == "[2] 4 4");
  CHECK(calls == 0);
  CHECK_FALSE(b.grad().defined());
  autograd::grad({(a * b).sum()}, {b});
  CHECK(calls == 1);
  CHECK(b.grad().defined());
}

TEST_CASE("in grad, tensor hooks of leaves run and post-accumulate hooks do not") {
  Tensor x = leaf(1);
  int calls = 0, posts = 0;
  x.register_hook([&](const Tensor& g) {
    ++calls;
    return g * 10;
  });
  x.register_post_accumulate_grad_hook([&](const Tensor&) { ++posts; });
  CHECK(show(autograd::grad({(x * 3).sum()}, {x})[0]) == "[2] 30 30");
  CHECK(calls == 1);
  CHECK(posts == 0);
  CHECK_FALSE(x.grad().defined());
  (x * 3).sum().backward();
  CHECK(show(x.grad()) == "[2] 30 30");
  CHECK(calls == 2);
  CHECK(posts == 1);
}

TEST_CASE("a chosen input on the path to another: both get gradients, and hooks run once") {
  Tensor x = leaf(1), h = x * 2;
  int calls = 0;
  h.register_hook([&](const Tensor& g) {
    ++calls;
    return g * 10;
  });
  x.register_hook([&](const Tensor& g) {
    ++calls;
    return g * 100;
  });
  const auto grads = autograd::grad({(h * 3).sum()}, {x, h, x});
  CHECK(show(grads[0]) == "[2] 6000 6000");
  CHECK(show(grads[1]) == "[2] 30 30");
  CHECK(show(grads[2]) == "[2] 6000 6000");
  CHECK(calls == 2);
}

TEST_CASE("an output that is also an input; roots above roots") {
  Tensor x = leaf(2), z = x.sum();
  const auto grads = autograd::grad({z}, {z, x}, {}, true);
  CHECK(show(grads[0]) == "[] 1");
  CHECK(show(grads[1]) == "[2] 1 1");
  CHECK(show(autograd::grad({x}, {x}, {ones({2}, kDouble)})[0]) == "[2] 1 1");
  Tensor y = x * x;
  autograd::backward({y.sum(), y}, {Tensor(), ones({2}, kDouble)});
  CHECK(show(x.grad()) == "[2] 8 8");
}

TEST_CASE("backward to chosen inputs accumulates only there") {
  Tensor x = leaf(2), w = leaf(3), h = x * w, y = (h * h).sum();
  const std::vector<Tensor> inputs{h, x};
  y.backward(Tensor(), true, false, TensorList(inputs));
  CHECK(show(h.grad()) == "[2] 12 12");
  CHECK(show(x.grad()) == "[2] 36 36");
  CHECK_FALSE(w.grad().defined());
  y.backward(Tensor(), true, false, TensorList(inputs));
  CHECK(show(h.grad()) == "[2] 24 24");
  CHECK(show(x.grad()) == "[2] 72 72");
}

TEST_CASE("a chosen non-leaf input gets its gradient once, in a separate tensor") {
  Tensor x = leaf(2), h = x * 2, given = ones({2}, kDouble);
  h.retain_grad();
  const std::vector<Tensor> inputs{h, h, x, x};
  h.backward(given, true, false, TensorList(inputs));
  CHECK(show(h.grad()) == "[2] 1 1");
  CHECK(show(x.grad()) == "[2] 2 2");
  h.mutable_grad().mul_(10);
  CHECK(show(given) == "[2] 1 1");
}

TEST_CASE("gradients under create_graph are not shared between leaves") {
  Tensor a = leaf(1), b = leaf(1), given = ones({2}, kDouble);
  (a + b).backward(given, nullopt, /*create_graph=*/true);
  {
    NoGradGuard guard;
    a.mutable_grad().mul_(10);
  }
  CHECK(show(a.grad()) == "[2] 10 10");
  CHECK(show(b.grad()) == "[2] 1 1");
  CHECK(show(given) == "[2] 1 1");
  Tensor c = leaf(3);
  (c * c * c).sum().backward(Tensor(), nullopt, true);
  CHECK(c.grad().requires_grad());
  CHECK(show(autograd::grad({c.grad().sum()}, {c})[0]) == "[2] 18 18");
  c.mutable_grad().reset();  // a leaf and its gradient's graph form a cycle
}

TEST_CASE("gradients without a graph are not shared between leaves") {
  Tensor a = leaf(1), b = leaf(1), given = ones({2}, kDouble);
  (a + b).backward(given);
  a.mutable_grad().mul_(10);
  CHECK(show(b.grad()) == "[2] 1 1");
  CHECK(show(given) == "[2] 1 1");
}

TEST_CASE("a gradient set by hand must have the leaf's shape") {
  Tensor x = leaf(1);
  x.mutable_grad() = ones({2, 2}, kDouble);
  CHECK_THROWS_WITH_AS((x * 2).sum().backward(), doctest::Contains("mutable_grad().reset()"), Error);
  x.mutable_grad().reset();
  (x * 2).sum().backward();
  CHECK(show(x.grad()) == "[2] 2 2");
  CHECK_THROWS_WITH_AS(x.sum().backward(ones({3})), doctest::Contains("gradient [3]"), Error);
}

namespace {
// Seconds of passes to the end of a history of so many operations.
double passes_after(int history) {
  Tensor h = leaf(1) * 2;
  for (int i = 0; i < history; ++i) h = h + 1;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 200; ++i) h = autograd::grad({(h * 0.5).sum()}, {h}, {}, nullopt, true)[0] + h;
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}
}  // namespace

TEST_CASE("a pass ends at the chosen input, however long its history is") {
  // A pass that visited it would take a thousand times as long; the least of three is not disturbed by other programs.
  double shorter = passes_after(10), longer = passes_after(50'000);
  for (int i = 0; i < 2; ++i) {
    shorter = std::min(shorter, passes_after(10));
    longer = std::min(longer, passes_after(50'000));
  }
  CHECK(longer < 20 * shorter);
}

TEST_CASE("a second pass through what a decomposition kept says that the graph was freed") {
  const Tensor a = eye(2, kDouble) * 3, b = ones({2, 1}, kDouble);
  for (const bool both : {true, false}) {
    Tensor x = a.clone().requires_grad_(both), y = b.clone().requires_grad_();
    const Tensor out = linalg_solve(x, y).sum();
    out.backward();
    CHECK_THROWS_WITH_AS(out.backward(), doctest::Contains("the graph was freed"), Error);
  }
}

TEST_CASE("a chosen leaf that is younger than a part of the graph") {
  Tensor x = leaf(2), h = x * 3, w = leaf(5);
  const Tensor y = (h * w).sum();
  CHECK(show(autograd::grad({y}, {w}, {}, true)[0]) == "[2] 6 6");
  CHECK(show(autograd::grad({y}, {x, w}, {}, true)[0]) == "[2] 15 15");
  CHECK(show(autograd::grad({y}, {h})[0]) == "[2] 5 5");
}

TEST_CASE("a chosen input behind a view that renewed its history") {
  Tensor x = leaf(2), base = x * 1, view = base[0], inner = x * 7;
  base.mul_(3);                                      // view renews its history at its next use
  const Tensor y = view * 2, middle = base * inner;  // y was recorded before view's new history
  const auto grads = autograd::grad({y + middle.sum()}, {base, x}, {}, true);
  CHECK(show(grads[0]) == "[2] 16 14");
  CHECK(show(grads[1]) == "[2] 90 84");
}
