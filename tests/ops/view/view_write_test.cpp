// In-place writes through views: every kind of write must reach the gradient of the base and be visible in
// its other views.
#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/index/index.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::indexing;
using namespace tandem::testing;

namespace {

Tensor leaf(std::vector<int64_t> sizes) { return (counting(std::move(sizes), kDouble) + 1).detach().requires_grad_(); }
// Gradient of sum(y^2) with respect to x.
std::string gradient(const Tensor& y, const Tensor& x) {
  return show(autograd::grad({(y * y).sum()}, {x}, {}, true)[0]);
}

}  // namespace

TEST_CASE("assignments to parts") {
  Tensor x = leaf({2, 2}), w = leaf({2});
  Tensor y = x * 1;
  y[0] = w;
  y[1][1] = 10;
  CHECK(show(y) == "[2, 2] 1 2 3 10");
  CHECK(gradient(y, x) == "[2, 2] 0 0 6 0");
  CHECK(gradient(y, w) == "[2] 2 4");
}

TEST_CASE("slices of slices, transposed views") {
  Tensor x = leaf({3, 3});
  Tensor y = x * 1;
  y.slice(0, 1).slice(1, 0, 2).mul_(2);
  y.t().select(0, 1).mul_(3);
  y.t().slice(0, 2).squeeze(0).slice(0, 0, 1).add_(100);
  CHECK(show(y) == "[3, 3] 1 6 103 8 30 6 14 48 9");
  CHECK(gradient(y, x) == "[3, 3] 2 36 206 32 360 12 56 576 18");
}

TEST_CASE("views taken before a write see it, and so does the base") {
  Tensor x = leaf({4});
  Tensor y = x * 1, early = y.view({2, 2}), row = early[1];
  y.index_put_({indices({3, 0})}, x.slice(0, 1, 3) * 10);
  CHECK(show(row) == "[2] 3 20");
  CHECK(gradient(row, x) == "[4] 0 400 6 0");
  row.mul_(2);
  CHECK(show(y) == "[4] 30 2 6 40");
  CHECK(gradient(y, x) == "[4] 0 1604 624 0");
  CHECK(gradient(early.t(), x) == "[4] 0 1604 624 0");
  y.select(0, 2).mul_(x[0]);
  CHECK(gradient(row, x) == "[4] 72 1600 24 0");
}

TEST_CASE("a chain of writes through different views") {
  Tensor x = leaf({2, 3}), w = leaf({3});
  Tensor y = x * 2;
  Tensor a = y[0], b = y.t();
  a.copy_(w);
  b[2].mul_(w.slice(0, 0, 2));
  y.diagonal().add_(w.slice(0, 1));
  a.slice(0, 0, 2).mul_(y[1].slice(0, 1).detach().clone());  // detach() alone would expose the later write
  CHECK(show(y) == "[2, 3] 39 48 3 8 13 24");
  CHECK(gradient(y, x) == "[2, 3] 0 0 0 32 52 192");
  CHECK(gradient(y, w) == "[3] 1032 3894 32");
}

TEST_CASE("a write makes a tensor without gradient part of the graph") {
  Tensor base = zeros({2, 2}, TensorOptions(kDouble)), view = base.t(), w = leaf({2});
  base[1] = w;
  CHECK(view.requires_grad());
  CHECK(show(view) == "[2, 2] 0 1 0 2");
  CHECK(gradient(view.select(1, 1), w) == "[2] 2 4");
}

TEST_CASE("a base with a storage offset, and a base that is a copy of a transposed leaf") {
  const Tensor store = counting({100}, kDouble);
  Tensor x = store.slice(0, 90, 96).detach().view({2, 3}).t().detach().requires_grad_();
  Tensor y = x * 1;
  y[2].mul_(2);
  CHECK(gradient(y, x) == "[3, 2] 180 186 182 188 736 760");
  Tensor plain = store.slice(0, 90, 96).detach(), w = leaf({1});
  plain.slice(0, 2, 3).copy_(w);
  CHECK(gradient(plain, w) == "[1] 2");
}

TEST_CASE("second derivatives through written views") {
  Tensor x = leaf({3});
  Tensor y = x * x;
  y.slice(0, 1).mul_(x.slice(0, 0, 2));  // 1, 4 1, 9 2
  const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
  CHECK(show(g) == "[3] 36 356 432");
  // d/dx of the sum of g: y = (a^2, b^2 a, c^2 b).
  CHECK(show(autograd::grad({g.sum()}, {x})[0]) == "[3] 108 706 864");
}

// PyTorch refuses these writes.
TEST_CASE("views from functions that return several are views like others") {
  Tensor x = leaf({4}), w = leaf({2});
  for (int i = 0; i < 3; ++i) {
    Tensor y = x * 1;
    const std::vector<Tensor> parts = i == 0 ? y.split(2) : i == 1 ? y.chunk(2) : y.view({2, 2}).unbind(0);
    parts[0].mul_(w);
    parts[1].mul_(parts[0].clone());  // y = x0 w0, x1 w1, x2 x0 w0, x3 x1 w1
    CHECK(show(y) == "[4] 1 4 3 16");
    CHECK(gradient(y, x) == "[4] 20 272 6 128");
    CHECK(gradient(y, w) == "[2] 20 272");
    CHECK(gradient(parts[1], w) == "[2] 18 256");
    const Tensor g = autograd::grad({(y * y).sum()}, {x}, {}, true, true)[0];
    CHECK(show(autograd::grad({g.sum()}, {w})[0]) == "[2] 52 400");
  }
}

TEST_CASE("writing a view of a leaf throws, except under NoGradGuard") {
  Tensor x = leaf({3});
  CHECK_THROWS_WITH_AS(x[0].mul_(2), doctest::Contains("view of a leaf"), Error);
  CHECK_THROWS_WITH_AS(x.index_put_({0}, 1), doctest::Contains("leaf"), Error);
  NoGradGuard guard;
  x[0] = 5;
  CHECK(show(x) == "[3] 5 2 3");
}

TEST_CASE("a view created without recording cannot be written while recording") {
  Tensor x = leaf({2, 2}), row;
  Tensor y = x * 1;
  {
    NoGradGuard guard;
    row = y[0];
    row.mul_(2);
  }
  CHECK_THROWS_WITH_AS(row.mul_(x[0]), doctest::Contains("created under NoGradGuard"), Error);
  CHECK_THROWS_WITH_AS(row.mul_(2), doctest::Contains("created under NoGradGuard"), Error);
  CHECK(show(y) == "[2, 2] 2 4 3 4");
}
