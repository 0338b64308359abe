// In-place operations and views on the tape.
#include <doctest/doctest.h>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops/arithmetic.h"
#include "tandem/autograd/ops/factories.h"
#include "tandem/autograd/ops/unary.h"
#include "tandem/autograd/ops/view.h"

using namespace tandem;

TEST_CASE("mul_ in place keeps the right gradients") {
  Tensor x = full({3}, 2.0, requires_grad()), w = full({3}, 5.0, requires_grad());
  Tensor y = x * 1;
  y.mul_(w);
  y.sum().backward();
  CHECK(x.grad().data_ptr<float>()[0] == 5);
  CHECK(w.grad().data_ptr<float>()[0] == 2);
}

TEST_CASE("writing through a view reaches the base's gradient") {
  Tensor x = ones({4}, requires_grad());
  Tensor y = x * 1;
  Tensor v = y.as_strided({2}, {1}, 1);
  v.mul_(10);
  Tensor other = y.view({2, 2});
  (other * 1).sum().backward();
  const float* g = x.grad().data_ptr<float>();
  CHECK(g[0] == 1);
  CHECK(g[1] == 10);
  CHECK(g[2] == 10);
  CHECK(g[3] == 1);
}

TEST_CASE("a value that requires a gradient, copied into a view of a tensor that does not") {
  Tensor base = zeros({3}), w = full({1}, 4.0, requires_grad());
  base.as_strided({1}, {1}, 1).copy_(w);
  CHECK(base.requires_grad());
  (base * base).sum().backward();
  CHECK(w.grad().item<float>() == 8);
}

TEST_CASE("an overwritten saved tensor is detected and named") {
  Tensor x = ones({2, 3}, requires_grad());
  Tensor y = x * 2;
  Tensor z = (y * y).sum();
  y.relu_();
  CHECK_THROWS_WITH_AS(z.backward(), doctest::Contains("overwritten by relu_"), Error);
}

TEST_CASE("a result of another shape is refused by name, recorded or not, and self stays") {
  for (bool recorded : {false, true}) {
    Tensor large = ones({3, 2}, TensorOptions().requires_grad(recorded)), y = full({2}, 7.0);
    CHECK_THROWS_WITH_AS(y.mul_(large), doctest::Contains("mul_: the result"), Error);
    CHECK_THROWS_WITH_AS(y.addcmul_(large, large), doctest::Contains("addcmul_: the result [3, 2]"), Error);
    CHECK_THROWS_WITH_AS(y.lerp_(large, 0.5), doctest::Contains("lerp_: the result [3, 2]"), Error);
    CHECK(y.sizes() == IntArrayRef{2});
    CHECK_FALSE(y.requires_grad());
    CHECK(y.data_ptr<float>()[1] == 7);
  }
}

TEST_CASE("leaf rules") {
  Tensor x = ones({2}, requires_grad());
  CHECK_THROWS_WITH_AS(x.add_(1), doctest::Contains("leaf"), Error);
  CHECK_THROWS_WITH_AS((x * 2).requires_grad_(false), doctest::Contains("only leaves"), Error);
  CHECK((x * 2).requires_grad_().grad_fn() != nullptr);  // nothing changes
  NoGradGuard guard;
  x.add_(1);
  CHECK(x.data_ptr<float>()[0] == 2);
}

TEST_CASE("grad through a view whose history is renewed when it is used") {
  Tensor x = ones({4}, requires_grad());
  Tensor y = x * 1;
  Tensor v = y.as_strided({2}, {1}, 1);
  y.mul_(10);
  Tensor w = v * 3;  // the node of the renewed view is younger than that of this product
  const Tensor g = autograd::grad({w.sum()}, {x})[0];
  CHECK(g.data_ptr<float>()[0] == 0);
  CHECK(g.data_ptr<float>()[1] == 30);
}
