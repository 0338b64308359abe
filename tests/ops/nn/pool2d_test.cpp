// Pooling: PyTorch's rules at the edges, first and second gradients, errors.
#include "tandem/autograd/ops/nn/pool2d.h"

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest pool(const char* torch, TensorFn fn, std::vector<std::vector<InputSpec>> cases) {
  return {.name = torch, .torch = torch, .fn = std::move(fn), .cases = std::move(cases)};
}

void check_values(const Tensor& t, std::vector<float> wanted) {
  REQUIRE(t.numel() == static_cast<int64_t>(wanted.size()));
  const Tensor row = t.contiguous();
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(row.data_ptr<float>()[i] == wanted[i]);
}

}  // namespace

TEST_CASE("average pooling in every mode") {
  check_op(pool("F.avg_pool2d(x0, 2)", [](const Tensors& x) { return Tensors{avg_pool2d(x[0], 2)}; },
                {{real({2, 3, 4, 4})}, {real({3, 5, 4})}, {real({0, 3, 4, 4})}}));
  check_op(pool("F.avg_pool2d(x0, (3, 2), (2, 1), (1, 1), True, False)",
                [](const Tensors& x) {
                  return Tensors{avg_pool2d(x[0], {3, 2}, {2, 1}, {1, 1}, true, false)};
                },
                {{real({2, 2, 5, 4})}, {real({1, 1, 6, 3})}}));
  check_op(pool("F.avg_pool2d(x0, 3, 2, 1, True, True, 5)",
                [](const Tensors& x) { return Tensors{avg_pool2d(x[0], 3, 2, 1, true, true, 5)}; },
                {{real({1, 2, 6, 5})}}));
}

TEST_CASE("maximum pooling in every mode") {
  check_op(pool("F.max_pool2d(x0, 2)", [](const Tensors& x) { return Tensors{max_pool2d(x[0], 2)}; },
                {{distinct({2, 2, 4, 4})}, {distinct({3, 5, 4})}, {distinct({0, 3, 4, 4})}}));
  check_op(pool("F.max_pool2d(x0, (3, 2), (1, 2), 1, (1, 2), True)",
                [](const Tensors& x) {
                  return Tensors{max_pool2d(x[0], {3, 2}, {1, 2}, 1, {1, 2}, true)};
                },
                {{distinct({1, 2, 4, 6})}}));
  check_op(pool("F.max_pool2d(x0, 3, 2, 1, return_indices=True)",
                [](const Tensors& x) {
                  auto [y, at] = max_pool2d_with_indices(x[0], 3, 2, 1);
                  return Tensors{y, at};
                },
                {{distinct({2, 1, 5, 5})}}));
  check_op(pool("F.max_pool1d(x0, 3, 2, 1)", [](const Tensors& x) { return Tensors{max_pool1d(x[0], 3, 2, 1)}; },
                {{distinct({2, 2, 7})}, {distinct({2, 7})}}));
}

TEST_CASE("adaptive average pooling in every mode") {
  check_op(pool("F.adaptive_avg_pool2d(x0, (3, 2))",
                [](const Tensors& x) {
                  return Tensors{adaptive_avg_pool2d(x[0], {3, 2})};
                },
                {{real({2, 2, 5, 4})}, {real({2, 3, 2})}, {real({1, 2, 2, 1})}, {real({0, 2, 5, 4})}}));
  check_op(pool("F.adaptive_avg_pool2d(x0, 1)", [](const Tensors& x) { return Tensors{adaptive_avg_pool2d(x[0], 1)}; },
                {{real({2, 2, 3, 4})}}));
}

TEST_CASE("windows at the edge") {
  const Tensor x = arange(9, kFloat).view({1, 3, 3});
  check_values(avg_pool2d(x, 2, 2, 0, true), {2, 3.5, 6.5, 8});
  check_values(avg_pool2d(x, 2, 2, 1), {0, 0.75, 2.25, 6});
  check_values(avg_pool2d(x, 2, 2, 1, false, false), {0, 1.5, 4.5, 6});
  check_values(avg_pool2d(x, 2, 1, 0, false, true, 1), {8, 12, 20, 24});
  check_values(max_pool2d(x, 2, 2, 0, 1, true), {4, 5, 7, 8});
  Tensor broken = x.clone();
  broken.data_ptr<float>()[4] = NAN;
  CHECK(std::isnan(max_pool2d(broken, 2).item<float>()));
  check_values(max_pool2d(full({1, 2, 2}, -INFINITY), 2), {-INFINITY});
}

TEST_CASE("the gradient of equal maxima goes to the first") {
  Tensor x = ones({1, 2, 2}, requires_grad());
  max_pool2d(x, 2).sum().backward();
  check_values(x.grad(), {1, 0, 0, 0});
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({1, 4, 4});
  CHECK_THROWS_WITH_AS(avg_pool2d(x, 2, 2, 2), doctest::Contains("at most half of the kernel"), Error);
  CHECK_THROWS_WITH_AS(avg_pool2d(x, 5), doctest::Contains("no window of [5] fits in [1, 4, 4]"), Error);
  CHECK_THROWS_WITH_AS(max_pool2d(x, 0), doctest::Contains("kernel_size must be at least 1"), Error);
  CHECK_THROWS_WITH_AS(max_pool2d(x, 2, 2, 0, 4), doctest::Contains("dilation"), Error);
  CHECK_THROWS_WITH_AS(avg_pool2d(x, 2, 2, 0, false, true, 0), doctest::Contains("divisor_override"), Error);
  CHECK_THROWS_WITH_AS(avg_pool2d(ones({4, 4}), 2), doctest::Contains("[N, C, H, W]"), Error);
  CHECK_THROWS_WITH_AS(max_pool2d(x.to(kLong), 2), doctest::Contains("int64"), Error);
  CHECK_THROWS_WITH_AS(adaptive_avg_pool2d(x, -1), doctest::Contains("output_size"), Error);
}
