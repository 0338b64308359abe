// Jacobians, Hessians and their products with vectors, against closed forms.
#include "tandem/autograd/functional.h"

#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::autograd::functional;
using testing::show;

namespace {
using Tensors = std::vector<Tensor>;

Tensor vec(std::vector<double> x) { return tensor(x, kDouble); }
Tensor leaf(std::vector<double> x) { return tensor(x, dtype(kDouble).requires_grad(true)); }
Tensor matrix() { return vec({1, 2, 3, 4, 5, 7}).view({2, 3}); }
bool near(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() && a.detach().allclose(b.detach(), 1e-10, 1e-12);
}
Tensor cubes(const Tensor& x) { return x.pow(3).sum(); }  // Hessian diag(6 x)
// x' A y with A of [2, 3].
Tensor product_form(const Tensors& t) { return (t[0].unsqueeze(0).mm(matrix()).squeeze(0) * t[1]).sum(); }
}  // namespace

TEST_CASE("jacobian of one tensor") {
  const Tensor x = vec({0.5, -1, 2});
  CHECK(near(jacobian([](const Tensor& t) { return t.exp(); }, x), x.exp().diag()));
  CHECK(near(jacobian([](const Tensor& t) { return matrix().mm(t.unsqueeze(1)).squeeze(1); }, x), matrix()));
  // Sums of squares of the rows of a transposed view: d out[i] / d x[j][k] = 2 x[i][k] if i = j.
  const Tensor rows = matrix().t();
  const Tensor j = jacobian([](const Tensor& t) { return (t * t).sum(IntArrayRef{1}); }, rows);
  CHECK(j.sizes() == IntArrayRef({3, 3, 2}));
  CHECK(near(j, eye(3, kDouble).unsqueeze(2) * (2 * rows).unsqueeze(0)));
  CHECK_FALSE(j.requires_grad());
  CHECK_FALSE(rows.requires_grad());
  CHECK(jacobian([](const Tensor& t) { return t.sum(); }, x).sizes() == IntArrayRef({3}));
  CHECK(jacobian([](const Tensor& t) { return t.slice(0, 0, 0); }, x).sizes() == IntArrayRef({0, 3}));
  CHECK(jacobian([](const Tensor& t) { return t * 2; }, zeros({0}, kDouble)).sizes() == IntArrayRef({0, 0}));
}

TEST_CASE("jacobian of lists; inputs on which an output does not depend") {
  const Tensors inputs{vec({1, 2}), vec({3, 4})};
  const auto f = [](const Tensors& t) { return Tensors{t[0] * t[1], t[1].sum() * 5}; };
  const auto j = jacobian(f, inputs);
  REQUIRE(j.size() == 2);
  CHECK(show(j[0][0]) == "[2, 2] 3 0 0 4");
  CHECK(show(j[0][1]) == "[2, 2] 1 0 0 2");
  CHECK(show(j[1][0]) == "[2] 0 0");
  CHECK(show(j[1][1]) == "[2] 5 5");
  CHECK_THROWS_WITH_AS(jacobian(f, inputs, false, true),
                       doctest::Contains("jacobian: the Jacobian with respect to input 0 is independent"), Error);
  const Tensor x = vec({1, 2});
  const auto constant = [](const Tensor&) { return vec({1}); };
  CHECK(show(jacobian(constant, x)) == "[1, 2] 0 0");
  CHECK_THROWS_WITH_AS(jacobian(constant, x, false, true), doctest::Contains("output 0 does not depend"), Error);
  // Strict mode with create_graph also refuses a Jacobian that is constant.
  const auto linear = [](const Tensor& t) { return t * 2; };
  CHECK(show(jacobian(linear, x, false, true)) == "[2, 2] 2 0 0 2");
  CHECK_THROWS_AS(jacobian(linear, x, true, true), Error);
  CHECK_THROWS_WITH_AS(jvp(linear, x, x, true, true), doctest::Contains("the Jacobian of output 0"), Error);
}

TEST_CASE("the function's own uses of an input are constants; recording may be off outside") {
  const Tensor x = leaf({2, 3});
  const NoGradGuard guard;
  CHECK(show(jacobian([&](const Tensor& t) { return t * x; }, x)) == "[2, 2] 2 0 0 3");
  CHECK(show(jacobian([&](const Tensor& t) { return t * x; }, x, true)) == "[2, 2] 2 0 0 3");
  CHECK_FALSE(x.grad().defined());
}

TEST_CASE("hessian of one tensor and of lists") {
  const Tensor x = vec({0.5, -1, 2});
  CHECK(near(hessian(cubes, x), (6 * x).diag()));
  const Tensor a = vec({1, 2, 3, 4}).view({2, 2});
  const auto quadratic = [&](const Tensor& t) { return (t * a.mm(t.unsqueeze(1)).squeeze(1)).sum(); };
  CHECK(near(hessian(quadratic, vec({3, 5})), a + a.t()));
  CHECK(near(hessian([](const Tensor& t) { return t.pow(3); }, tensor(2.0, kDouble)), tensor(12.0, kDouble)));
  CHECK(near(hessian([](const Tensor& t) { return t.pow(3); }, vec({2})), vec({12}).view({1, 1})));
  const Tensors inputs{vec({1, 2}), vec({3, 4, 5})};
  const auto h = hessian(product_form, inputs);
  CHECK(near(h[0][0], zeros({2, 2}, kDouble)));
  CHECK(near(h[0][1], matrix()));
  CHECK(near(h[1][0], matrix().t()));
  CHECK(near(h[1][1], zeros({3, 3}, kDouble)));
  CHECK_THROWS_WITH_AS(hessian([](const Tensor& t) { return t * 2; }, x),
                       "hessian: the function must return one element, got [3] float64 cpu", Error);
  CHECK_THROWS_AS(hessian([](const Tensor& t) { return t.sum(); }, x, false, true), Error);
  CHECK(near(hessian([](const Tensor& t) { return t.sum(); }, x), zeros({3, 3}, kDouble)));
}

TEST_CASE("products with the Jacobian") {
  const Tensor x = vec({1, 2, 3}), v = vec({10, 1});
  const auto f = [](const Tensor& t) { return matrix().mm((t * t).unsqueeze(1)).squeeze(1); };  // J = 2 A diag(x)
  const Tensor j = 2 * matrix() * x;
  const auto [out, left] = vjp(f, x, v);
  CHECK(near(out, f(x)));
  CHECK(near(left, v.unsqueeze(0).mm(j).squeeze(0)));
  const Tensor direction = vec({1, -1, 2});
  const auto [same, right] = jvp(f, x, direction);
  CHECK(near(same, f(x)));
  CHECK(near(right, j.mm(direction.unsqueeze(1)).squeeze(1)));
  CHECK_FALSE(left.requires_grad());
  CHECK_FALSE(right.requires_grad());

  CHECK(near(vjp(cubes, x).second, 3 * x * x));  // one element: v is 1
  CHECK(show(jvp([](const Tensor& t) { return t * vec({1, 2}); }, vec({3})).second) == "[2] 1 2");
  const auto pair = [](const Tensors& t) { return Tensors{t[0] * t[1], t[1] * 5}; };
  const auto products = jvp(pair, {vec({1, 2}), vec({3, 4})}, {vec({1, 1}), vec({0, 10})}).second;
  CHECK(show(products[0]) == "[2] 3 24");
  CHECK(show(products[1]) == "[2] 0 50");
  const auto sums = vjp(pair, {vec({1, 2}), vec({3, 4})}, {vec({1, 1}), vec({0, 10})}).second;
  CHECK(show(sums[0]) == "[2] 3 4");
  CHECK(show(sums[1]) == "[2] 1 52");
}

TEST_CASE("products with the Hessian") {
  const Tensor x = vec({1, 2, 3}), v = vec({1, -1, 2});
  for (const auto& [out, product] : {vhp(cubes, x, v), hvp(cubes, x, v)}) {
    CHECK(near(out, cubes(x)));
    CHECK(near(product, 6 * x * v));
    CHECK_FALSE(product.requires_grad());
  }
  const Tensors inputs{vec({1, 2}), vec({3, 4, 5})}, vs{vec({1, -1}), vec({2, 0, 1})};
  for (const auto& [out, product] : {vhp(product_form, inputs, vs), hvp(product_form, inputs, vs)}) {
    CHECK(near(out, product_form(inputs)));
    CHECK(near(product[0], matrix().mm(vs[1].unsqueeze(1)).squeeze(1)));
    CHECK(near(product[1], vs[0].unsqueeze(0).mm(matrix()).squeeze(0)));
  }
  const auto linear = [](const Tensor& t) { return t.sum(); };
  CHECK(show(hvp(linear, x, v).second) == "[3] 0 0 0");
  CHECK(show(vhp(linear, x, v).second) == "[3] 0 0 0");
  CHECK_THROWS_AS(hvp(linear, x, v, false, true), Error);
  CHECK_THROWS_AS(vhp(linear, x, v, false, true), Error);
}

TEST_CASE("results can be differentiated, with respect to the input and to v") {
  const auto fourth = [](const Tensor& t) { return t.pow(4).sum(); };
  const Tensor x = leaf({1, 2}), v = leaf({10, 100});
  const auto gradient = [&](const Tensor& y, const Tensor& of) {
    return show(autograd::grad({y.sum()}, {of}, {}, true)[0]);
  };
  CHECK(gradient(hessian(fourth, x, true), x) == "[2] 24 48");
  CHECK(gradient(jacobian([](const Tensor& t) { return t.pow(3); }, x, true), x) == "[2] 6 12");
  const Tensor hv = hvp(fourth, x, v, true).second, vh = vhp(fourth, x, v, true).second;  // 12 x^2 v
  for (const Tensor& product : {hv, vh}) {
    CHECK(show(product) == "[2] 120 4800");
    CHECK(gradient(product, x) == "[2] 240 4800");
    CHECK(gradient(product, v) == "[2] 12 48");
  }
  const auto cube = [](const Tensor& t) { return t.pow(3); };
  const auto [out, jv] = jvp(cube, x, v, true);
  CHECK(gradient(out, x) == "[2] 3 12");
  CHECK(gradient(jv, x) == "[2] 60 1200");
  CHECK(gradient(jv, v) == "[2] 3 12");
  const Tensor vj = vjp(cube, x, v, true).second;
  CHECK(gradient(vj, x) == "[2] 60 1200");
  CHECK(gradient(vj, v) == "[2] 3 12");
  // Third derivatives: the Hessian of a sum of a product with the Hessian.
  const Tensor third = hessian([&](const Tensor& t) { return hvp(fourth, t, vec({1, 1}), true).second.sum(); }, x);
  CHECK(show(third) == "[2, 2] 24 0 0 24");
}

TEST_CASE("wrong vectors and inputs") {
  const Tensor x = vec({1, 2});
  const auto twice = [](const Tensor& t) { return t * 2; };
  CHECK_THROWS_WITH_AS(vjp(twice, x), doctest::Contains("vjp: v may only be left out for one output with one element"),
                       Error);
  CHECK_THROWS_WITH_AS(jvp(twice, x), doctest::Contains("jvp: v may only be left out for one input"), Error);
  CHECK_THROWS_WITH_AS(hvp(cubes, x, vec({1, 2, 3})), doctest::Contains("expected the shape of input 0: [2]"), Error);
  const auto list = [](const Tensors& t) { return Tensors{t[0]}; };
  CHECK_THROWS_WITH_AS(vjp(list, {x}, {x, x}), doctest::Contains("vjp: v has 2 tensors, expected 1"), Error);
  CHECK_THROWS_AS(jacobian(twice, ones({2}, kLong)), Error);
  CHECK_THROWS_WITH_AS(jacobian(twice, Tensor()), doctest::Contains("undefined"), Error);
}
