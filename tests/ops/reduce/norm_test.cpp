// Normalisation: values, first and second gradients, running statistics, errors.
#include "tandem/autograd/ops/nn/normalization.h"

#include <cmath>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/tests/ops/op_testing.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

OpTest norm(const char* torch, TensorFn fn, std::vector<std::vector<InputSpec>> cases) {
  return {.name = torch, .torch = torch, .fn = std::move(fn), .cases = std::move(cases), .tolerance32 = 1e-4};
}

double at(const Tensor& t, int64_t i) { return t.contiguous().data_ptr<double>()[i]; }

}  // namespace

TEST_CASE("batch_norm in training") {
  check_op(norm("F.batch_norm(x0, None, None, x1, x2, True)",
                [](const Tensors& x) { return Tensors{batch_norm(x[0], x[1], x[2], {}, {}, true)}; },
                {{real({5, 3}), real({3}), real({3})},
                 {real({3, 2, 4}), real({2}), real({2})},
                 {real({2, 2, 3, 2}), real({2}), real({2})},
                 {real({2, 1, 2, 1, 3}), real({1}), real({1})}}));
  check_op(norm("F.batch_norm(x0, None, None, training=True, eps=0.1)",
                [](const Tensors& x) { return Tensors{batch_norm(x[0], {}, {}, {}, {}, true, 0.1, 0.1)}; },
                {{real({4, 2})}, {real({3, 2, 4})}}));
}

TEST_CASE("batch_norm with given statistics") {
  check_op(norm("F.batch_norm(x0, x3, x4, x1, x2, False)",
                [](const Tensors& x) { return Tensors{batch_norm(x[0], x[1], x[2], x[3], x[4], false)}; },
                {{real({2, 3, 2, 2}), real({3}), real({3}), constant({3}), constant({3}, 0.5, 2)},
                 {real({0, 3, 2, 2}), real({3}), real({3}), constant({3}), constant({3}, 0.5, 2)},
                 {real({1, 3}), real({3}), real({3}), constant({3}), constant({3}, 0.5, 2)}}));
}

TEST_CASE("layer_norm and group_norm") {
  check_op(norm("F.layer_norm(x0, (2, 3), x1, x2)",
                [](const Tensors& x) {
                  return Tensors{layer_norm(x[0], {2, 3}, x[1], x[2])};
                },
                {{real({2, 2, 3}), real({2, 3}), real({2, 3})}}));
  check_op(norm("F.layer_norm(x0, (5,))", [](const Tensors& x) { return Tensors{layer_norm(x[0], {5})}; },
                {{real({3, 5})}}));
  check_op(norm("F.group_norm(x0, 2, x1, x2)",
                [](const Tensors& x) { return Tensors{group_norm(x[0], 2, x[1], x[2])}; },
                {{real({2, 4, 3}), real({4}), real({4})}, {real({2, 4, 1, 2}), real({4}), real({4})}}));
}

TEST_CASE("statistics of numbers with a mean much larger than their deviation") {
  // 1e6 + k / 16 for k = 0 … 31 in turn: exact in float32, but their mean is not.
  const Tensor k = (arange(4096, kLong) * 5).remainder(Scalar(32));
  const Tensor x = (k.to(kDouble) / 16 + 1e6).to(kFloat).view({4, 1, 1024});
  const double variance = (32 * 32 - 1) / 12.0 / 256, spread = variance / (variance + 1e-5);
  const Tensor mean = zeros({1}), var = zeros({1});
  batch_norm(x, {}, {}, mean, var, true, 1);
  CHECK(values(var)[0] == doctest::Approx(variance * 4096 / 4095).epsilon(2e-6));
  for (const Tensor& y :
       {batch_norm(x, {}, {}, {}, {}, true), layer_norm(x, {1024}), group_norm(x, 1), instance_norm(x)}) {
    const Tensor y64 = y.to(kDouble);
    CHECK(values((y64 * y64).mean() - y64.mean() * y64.mean())[0] == doctest::Approx(spread).epsilon(2e-6));
  }
}

TEST_CASE("running statistics: momentum, unbiased variance, kept for backward") {
  const Tensor x = arange(6, kDouble).view({3, 2});  // channel 0: 0 2 4, channel 1: 1 3 5
  const Tensor mean = ones({2}, kDouble), var = ones({2}, kDouble);
  batch_norm(x, {}, {}, mean, var, true, 0.25);
  CHECK(at(mean, 0) == 0.75 * 1 + 0.25 * 2);
  CHECK(at(mean, 1) == 0.75 * 1 + 0.25 * 3);
  CHECK(at(var, 0) == 0.75 * 1 + 0.25 * 4);
  Tensor w = ones({2}, TensorOptions(kDouble).requires_grad(true));
  const Tensor y = batch_norm(x, w, {}, mean, var, false);
  const double before = at(y, 0);
  batch_norm(x, {}, {}, mean, var, true, 1);
  y.sum().backward();
  CHECK(std::abs(at(w.grad(), 0) - (before + at(y, 2) + at(y, 4))) < 1e-12);
}

TEST_CASE("batch_norm has the same bits on any number of threads") {
  const Tensor in = make_inputs({.cases = {{constant({64, 33, 13, 13})}}}, 0, kFloat)[0];
  same_bits_on_any_threads([&] {
    const Tensor x = in.clone().requires_grad_();
    const Tensor y = batch_norm(x, {}, {}, {}, {}, true);
    return Tensors{y, autograd::grad({y}, {x}, {in})[0]};
  });
}

TEST_CASE("invalid arguments throw") {
  const Tensor x = ones({2, 3});
  CHECK_THROWS_WITH_AS(batch_norm(x, ones({2}), {}, {}, {}, true), doctest::Contains("weight must be [3]"), Error);
  CHECK_THROWS_WITH_AS(batch_norm(ones({1, 3}), {}, {}, {}, {}, true), doctest::Contains("more than one value"), Error);
  CHECK_THROWS_WITH_AS(batch_norm(x, {}, {}, ones({3}), {}, true), doctest::Contains("or neither"), Error);
  CHECK_THROWS_WITH_AS(batch_norm(ones({3}), {}, {}, {}, {}, true), doctest::Contains("[N, C, ...]"), Error);
  CHECK_THROWS_WITH_AS(batch_norm(x.to(kLong), {}, {}, {}, {}, true), doctest::Contains("int64"), Error);
  CHECK_THROWS_WITH_AS(layer_norm(x, {2}), doctest::Contains("last dimensions must be [2]"), Error);
  CHECK_THROWS_WITH_AS(group_norm(x, 2), doctest::Contains("2 groups do not divide"), Error);
}
