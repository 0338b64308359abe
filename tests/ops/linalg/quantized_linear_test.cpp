// quantize, dequantize and quantized_linear: rounding, groups, all numbers of rows, dtypes, threads, and errors.
#include "tandem/autograd/ops/linalg/quantized_linear.h"

#include <cmath>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;
using namespace tandem::autograd;

namespace {

// x weightᵀ + bias in float64 with the weight that the integers stand for.
Tensor expected(const Tensor& x, const QuantizedMatrix& w, const Tensor& bias) {
  const Tensor weight = dequantize({w.values, w.scales.to(kDouble)});
  return linear(x.to(kDouble), weight, bias.defined() ? bias.to(kDouble) : bias);
}
double difference(const Tensor& expected, const Tensor& found) {
  return expected.numel() == 0 ? 0 : (expected - found.to(kDouble)).abs().max().item<double>();
}

}  // namespace

TEST_CASE("quantize rounds to the nearest integer, ties to even, with a scale per group") {
  const Tensor w = tensor({127.0, 2.5, -3.5, 0.5, -254.0, 3.0, 5.0, -1.0}).to(kFloat).view({1, 8});
  const QuantizedMatrix q = quantize(w, 4);
  CHECK(show(q.values) == "[1, 8] 127 2 -4 0 -127 2 2 0");
  CHECK(show(q.scales) == "[1, 2] 1 2");
  CHECK(q.values.dtype() == kChar);
  CHECK(show(dequantize(q)) == "[1, 8] 127 2 -4 0 -254 4 4 0");
}

TEST_CASE("a row is cut into groups of equal size, and their number says which") {
  const QuantizedMatrix q = quantize(randn({3, 100}), 64);
  CHECK(q.scales.sizes() == IntArrayRef({3, 2}));
  CHECK(group_size(100, 2) == 50);
  CHECK(quantize(randn({3, 9}), 4).scales.size(1) == 3);
  CHECK(quantize(randn({3, 9}), 100).scales.size(1) == 1);
  CHECK(quantize(randn({0, 9}), 4).scales.sizes() == IntArrayRef({0, 3}));
  for (int64_t k = 1; k < 40; ++k)
    for (int64_t group = 1; group < 42; ++group) {
      const int64_t groups = (k + group - 1) / group;
      CHECK(group_size(k, groups) <= group);
    }
  CHECK_THROWS_WITH_AS(group_size(10, 6), doctest::Contains("10 elements in a row cannot have 6 groups"), Error);
}

TEST_CASE("each value is within half a step of its weight; zeros and tiny numbers stay finite") {
  manual_seed(1);
  Tensor w = randn({37, 130});
  w.select(0, 5).zero_();
  w.select(0, 6).mul_(1e-44);
  const QuantizedMatrix q = quantize(w, 32);
  const Tensor error = (dequantize(q) - w).abs().view({37, 5, 26}).amax(IntArrayRef{-1});
  CHECK((error <= q.scales * 0.5001 + 1e-42).all().item<bool>());
  CHECK(q.values.select(0, 5).abs().max().item<int>() == 0);
  CHECK(q.values.abs().max().item<int>() == 127);
}

TEST_CASE("quantized_linear: the product with the dequantised weight in float64") {
  manual_seed(2);
  // Depths that are whole vectors and not, groups likewise, rows of the matrix that end a block and not.
  for (const int64_t k : {1, 5, 64, 100, 127, 784})
    for (const int64_t n : {1, 3, 16, 50})
      for (const int64_t group : {3, 32, 64}) {
        const QuantizedMatrix w = quantize(randn({n, k}), group);
        const Tensor bias = randn({n});
        for (const int64_t m : {0, 1, 2, 3, 4, 5, 7, 16, 17, 40}) {
          const Tensor x = randn({m, k});
          CAPTURE(k);
          CAPTURE(n);
          CAPTURE(group);
          CAPTURE(m);
          CHECK(difference(expected(x, w, bias), quantized_linear(x, w.values, w.scales, bias)) < 2e-4);
          CHECK(difference(expected(x, w, {}), quantized_linear(x, w.values, w.scales)) < 2e-4);
        }
      }
}

TEST_CASE("quantized_linear: other shapes and strides of x, and no elements") {
  manual_seed(3);
  const QuantizedMatrix w = quantize(randn({7, 48}), 16);
  const Tensor x = randn({2, 3, 48}), turned = randn({48, 6}).t();
  CHECK(quantized_linear(x, w.values, w.scales).sizes() == IntArrayRef({2, 3, 7}));
  CHECK(difference(expected(x, w, {}), quantized_linear(x, w.values, w.scales)) < 1e-4);
  CHECK(difference(expected(turned, w, {}), quantized_linear(turned, w.values, w.scales)) < 1e-4);
  CHECK(quantized_linear(x[0][0], w.values, w.scales).sizes() == IntArrayRef({7}));
  const QuantizedMatrix none = quantize(randn({7, 0}), 16);
  CHECK(show(quantized_linear(zeros({2, 0}), none.values, none.scales, ones({7})).sum()) == "[] 14");
  CHECK(quantized_linear(x, w.values.slice(0, 0, 0), w.scales.slice(0, 0, 0)).sizes() == IntArrayRef({2, 3, 0}));
}

TEST_CASE("quantized_linear: half types, float64 and autocast") {
  manual_seed(4);
  const Tensor weight = randn({50, 200}), x = randn({3, 200}), bias = randn({50});
  const QuantizedMatrix w = quantize(weight, 64);
  for (const ScalarType type : {kHalf, kBFloat16}) {
    const double rounding = type == kHalf ? 0.02 : 0.15;
    const Tensor y = quantized_linear(x.to(type), w.values, w.scales, bias.to(type));
    CHECK(y.dtype() == type);
    CHECK(difference(expected(x.to(type), w, bias.to(type)), y) < rounding);
    const QuantizedMatrix narrow{w.values, w.scales.to(type)};
    CHECK(difference(expected(x.to(type), narrow, {}), quantized_linear(x.to(type), w.values, narrow.scales)) <
          rounding);
    const autocast::AutocastGuard mixed(kCPU, type);
    CHECK(quantized_linear(x, w.values, w.scales, bias).dtype() == type);
  }
  const QuantizedMatrix wide = quantize(weight.to(kDouble), 64);
  const Tensor y = quantized_linear(x.to(kDouble), wide.values, wide.scales);
  CHECK(y.dtype() == kDouble);
  CHECK(difference(expected(x, wide, {}), y) < 1e-12);
}

TEST_CASE("quantized_linear: the same bits on any number of threads") {
  manual_seed(5);
  const QuantizedMatrix w = quantize(randn({1003, 300}), 64);
  const int before = get_num_threads();
  for (const int64_t m : {1, 2, 3, 4, 11, 33}) {
    const Tensor x = randn({m, 300});
    set_num_threads(1);
    const Tensor one = quantized_linear(x, w.values, w.scales);
    set_num_threads(3);
    CHECK(one.equal(quantized_linear(x, w.values, w.scales)));
  }
  set_num_threads(before);
}

TEST_CASE("quantized_linear: NaN and infinity stay in their row and their group's products") {
  const QuantizedMatrix w = quantize(randn({5, 20}), 6);
  Tensor x = randn({2, 20});
  x[0][19] = INFINITY;
  const Tensor y = quantized_linear(x, w.values, w.scales);
  CHECK(y[1].isfinite().all().item<bool>());
  CHECK(!y[0].isfinite().any().item<bool>());
}

TEST_CASE("quantized_linear: errors") {
  const QuantizedMatrix w = quantize(randn({5, 20}), 6);
  const Tensor x = randn({2, 20});
  CHECK_THROWS_WITH_AS(quantized_linear(randn({2, 19}), w.values, w.scales), doctest::Contains("expected x [..., K]"),
                       Error);
  CHECK_THROWS_WITH_AS(quantized_linear(x, w.values.to(kFloat), w.scales), doctest::Contains("expected int8 values"),
                       Error);
  CHECK_THROWS_WITH_AS(quantized_linear(x, w.values, w.scales.slice(1, 0, 3).repeat({1, 5})),
                       doctest::Contains("cannot have 15 groups"), Error);
  CHECK_THROWS_WITH_AS(quantized_linear(x, w.values, w.scales, randn({4})), doctest::Contains("bias must be [5]"),
                       Error);
  CHECK_THROWS_WITH_AS(quantized_linear(x, w.values, w.scales.to(kDouble)), doctest::Contains("scales"), Error);
  Tensor trained = randn({2, 20});
  trained.requires_grad_();
  CHECK_THROWS_WITH_AS(quantized_linear(trained, w.values, w.scales), doctest::Contains("no gradient"), Error);
  const NoGradGuard no_grad;
  CHECK(quantized_linear(trained, w.values, w.scales).sizes() == IntArrayRef({2, 5}));
  CHECK_THROWS_WITH_AS(quantize(full({2, 2}, NAN), 2), doctest::Contains("not finite"), Error);
  CHECK_THROWS_WITH_AS(quantize(randn({2, 2}), 0), doctest::Contains("at least 1"), Error);
  CHECK_THROWS_WITH_AS(quantize(randn({2}), 2), doctest::Contains("floating point matrix"), Error);
}
