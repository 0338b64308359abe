// Dropout: selected elements, their scale, the seed, the gradient, limits of p.
#include "tandem/autograd/ops/nn/dropout.h"

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("dropout keeps a fraction 1 - p of the elements and scales them") {
  manual_seed(1);
  const Tensor y = dropout(ones({100, 100}), 0.2, true);
  const int64_t kept = (y != 0).sum().item<int64_t>();
  CHECK(std::abs(static_cast<double>(kept) - 8000) < 5 * 40);  // five standard deviations
  CHECK((y == 1.25).sum().item<int64_t>() == kept);
  const Tensor other = dropout(ones({100, 100}), 0.2, true);
  CHECK(!identical(y, other));
  manual_seed(1);
  CHECK(identical(y, dropout(ones({100, 100}), 0.2, true)));
}

TEST_CASE("the gradient passes where the value passed") {
  const TensorFn fixed = [](const Tensors& x) {
    manual_seed(7);
    return Tensors{dropout(x[0], 0.4, true), feature_dropout(x[1], 0.4, true)};
  };
  check_op({.name = "dropout", .torch = "", .fn = fixed, .cases = {{real({3, 4}), real({2, 3, 2})}}});
}

TEST_CASE("in-place form and whole channels") {
  Tensor x = ones({50}, requires_grad()), y = x * 1;
  dropout_(y, 0.5, true);
  y.sum().backward();
  CHECK(identical(x.grad(), y));
  const Tensor z = feature_dropout(ones({4, 5, 3}), 0.5, true);
  for (int64_t i = 0; i < 20; ++i) {
    const float* channel = z.data_ptr<float>() + 3 * i;
    CHECK(((channel[0] == 0 || channel[0] == 2) && channel[0] == channel[1] && channel[1] == channel[2]));
  }
}

TEST_CASE("the limits of p, and evaluation mode") {
  const Tensor x = full({3}, INFINITY);
  CHECK(dropout(x, 0, true).is_same(x));
  CHECK(dropout(x, 0.5, false).is_same(x));
  CHECK((dropout(ones({9}), 1, true) == 0).sum().item<int64_t>() == 9);
  CHECK_THROWS_WITH_AS(dropout(x, 1.5, true), doctest::Contains("must be in [0, 1]"), Error);
  CHECK_THROWS_WITH_AS(dropout(x, NAN, false), doctest::Contains("must be in [0, 1]"), Error);
  CHECK_THROWS_WITH_AS(dropout(x.to(kLong), 0.5, true), doctest::Contains("floating point"), Error);
}
