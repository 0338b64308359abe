// Functions that write to a given tensor: shapes, dtypes, gradients, aliases.
#include <doctest/doctest.h>

#include "tandem/autograd/torch_names.h"
#include "tandem/tandem.h"

using namespace tandem;

TEST_CASE("an out tensor takes the shape and the values of the result") {
  const Tensor a = tensor({{1.0, 2.0}, {3.0, 4.0}}), b = tensor({10.0, 20.0});
  Tensor out = empty({0});
  CHECK(add_out(out, a, b, 2).is_same(out));
  CHECK(equal(out, tensor({{21.0, 42.0}, {23.0, 44.0}})));
  void* const memory = out.data_ptr();
  CHECK(equal(mm_out(out, a, a), a.mm(a)));
  CHECK(out.data_ptr() == memory);
  CHECK(equal(cat_out(out, {a, a}, 1), cat({a, a}, 1)));
  CHECK(equal(sum_out(out, a, {0}), tensor({4.0, 6.0})));
  CHECK(equal(mul_out(out, out, out), tensor({16.0, 36.0})));  // out is also an argument
  Tensor view = zeros({2, 2}).t();
  CHECK(equal(exp_out(view, a), a.exp()));
  CHECK(view.stride(0) == 1);
}

TEST_CASE("several out tensors") {
  Tensor values = empty({0}), indices = empty({0}, kLong);
  const auto [v, i] = max_out(values, indices, tensor({{1.0, 5.0}, {7.0, 2.0}}), 1);
  CHECK(v.is_same(values));
  CHECK(equal(values, tensor({5.0, 7.0})));
  CHECK(equal(indices, tensor({1, 0})));
  sort_out(values, indices, tensor({3.0, 1.0, 2.0}));
  CHECK(equal(indices, tensor({1, 2, 0})));
}

TEST_CASE("factories take the dtype of out") {
  Tensor out = empty({0}, kInt);
  CHECK((arange_out(out, 3).dtype() == kInt));
  CHECK(equal(out, tensor({0, 1, 2}, kInt)));
  CHECK(zeros_out(out, {2, 2}).sizes() == IntArrayRef({2, 2}));
  Tensor real = empty({0}, kDouble);
  CHECK(equal(linspace_out(real, 0, 1, 3), tensor({0.0, 0.5, 1.0}, kDouble)));
  CHECK(randn_out(real, {4}).numel() == 4);
}

TEST_CASE("results are cast as PyTorch casts them") {
  const Tensor x = tensor({1.5, 2.5});
  Tensor wide = empty({0}, kDouble), whole = empty({0}, kLong);
  CHECK((add_out(wide, x, x).dtype() == kDouble));
  CHECK_THROWS_WITH_AS(add_out(whole, x, x), doctest::Contains("not cast"), Error);
  CHECK_THROWS_AS(eq_out(whole, x, x).data_ptr<bool>(), Error);  // bool is cast to int64
  CHECK(equal(whole, tensor({1, 1})));
  CHECK(sum_out(wide, tensor({1, 2, 3}), {0}).item<double>() == 6);
}

TEST_CASE("out is refused where a gradient would be lost") {
  const Tensor x = tensor({1.0, 2.0}), leaf = tensor({1.0, 2.0}).requires_grad_();
  Tensor out = empty({2}), needs = zeros({2}).requires_grad_(), none;
  CHECK_THROWS_WITH_AS(mul_out(out, x, leaf), doctest::Contains("requires a gradient"), Error);
  CHECK_THROWS_WITH_AS(mul_out(needs, x, x), doctest::Contains("requires a gradient"), Error);
  CHECK_THROWS_WITH_AS(mul_out(none, x, x), doctest::Contains("undefined"), Error);
  const NoGradGuard no_grad;
  CHECK(equal(mul_out(out, x, leaf), tensor({1.0, 4.0})));
  CHECK(equal(mul_out(needs, x, x), tensor({1.0, 4.0})));
}

TEST_CASE("writing to an out that was saved for backward is noticed") {
  const Tensor x = tensor({1.0, 2.0}).requires_grad_();
  Tensor factor = ones({2});
  const Tensor y = (x * factor).sum();
  add_out(factor, factor, factor);
  CHECK_THROWS_AS(y.backward(), Error);
}
