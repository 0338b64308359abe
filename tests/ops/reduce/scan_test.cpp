// Running sums and products: building blocks, zeros, directions, dtypes.
#include "tandem/autograd/ops/reduce/scan.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/reduce/reduce.h"
#include "tandem/autograd/ops/reduce/running.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

TEST_CASE("the building blocks of the gradients of cumsum and cumprod") {
  check_op({.name = "cumprod reversed",
            .torch = "x0.flip(0).cumprod(0).flip(0)",
            .fn = [](const Tensors& x) { return Tensors{autograd::running_product(x[0], 0, true)}; },
            .cases = {{real({3, 4})}, {real({4})}}});
  for (bool reverse : {false, true})
    check_op({.name = "linear recurrence",
              .torch = "",
              .fn = [=](const Tensors& x) { return Tensors{autograd::linear_recurrence(x[0], x[1], 1, reverse)}; },
              .cases = {{real({3, 4}), real({3, 4})}, {real({2, 3, 2}), real({2, 3, 2})}}});
}

TEST_CASE("a product's gradient with several zeros") {
  Tensor x = ones({4}, kDouble);
  x.data_ptr<double>()[1] = x.data_ptr<double>()[2] = 0;
  gradcheck([](const Tensors& in) { return Tensors{cumprod(in[0], 0), prod(in[0])}; }, {x.requires_grad_()});
  gradgradcheck([](const Tensors& in) { return Tensors{cumprod(in[0], 0), prod(in[0])}; }, {x});
}

TEST_CASE("integer scans accumulate in int64") {
  const Tensor x = full({3}, 100, kByte);
  CHECK(((cumsum(x, 0).dtype() == kLong)));
  CHECK(cumsum(x, 0).data_ptr<int64_t>()[2] == 300);
  CHECK(cumprod(x, 0).data_ptr<int64_t>()[2] == 1000000);
  CHECK(cumsum(x, 0, kByte).data_ptr<uint8_t>()[2] == 300 % 256);
  CHECK(cumsum(full({}, 3, kDouble), 0).item<double>() == 3);
  CHECK_THROWS_AS(cumsum(x, 1), IndexError);
}

TEST_CASE("wide and long scans match narrow ones") {
  const Tensor x = make_inputs({.cases = {{constant({70, 130})}}}, 0, kDouble)[0];
  const Tensor rows = cumsum(x, 1), columns = cumsum(x.transpose(0, 1).contiguous(), 0).transpose(0, 1);
  CHECK(identical(rows, columns.contiguous()));
  double state = 0;
  for (int64_t i = 0; i < 130; ++i) {
    state += x.data_ptr<double>()[69 * 130 + i];
    REQUIRE(rows.data_ptr<double>()[69 * 130 + i] == doctest::Approx(state).epsilon(1e-12));
  }
}

TEST_CASE("cummax and cummin give the last of equal elements, and stay at NaN") {
  const Tensor x = tensor({2.0, 2.0, 1.0, 2.0, 1.0, std::nan(""), 0.0, 3.0, std::nan("")}, kDouble);
  const auto [high, at_high] = cummax(x, 0);
  const auto [low, at_low] = cummin(x, 0);
  CHECK(equal(at_high, tensor({0, 1, 1, 3, 3, 5, 5, 5, 8}, kLong)));
  CHECK(equal(at_low, tensor({0, 1, 2, 2, 4, 5, 5, 5, 8}, kLong)));
  CHECK(equal(high.narrow(0, 0, 5), full({5}, 2, kDouble)));
  CHECK(equal(low.narrow(0, 0, 5), tensor({2.0, 2.0, 1.0, 1.0, 1.0}, kDouble)));
  CHECK(std::isnan(high[6].item<double>()));
  CHECK(std::isnan(low[7].item<double>()));
}
