// Softmax: references in double, extreme values, errors, threads.
#include "tandem/autograd/ops/nn/softmax.h"

#include <cmath>
#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/tests/ops/op_testing.h"

using namespace tandem;
using namespace tandem::testing;

// Both layouts of the kernel, lengths around the vector length, forward and backward without create_graph.
TEST_CASE("rows and columns of any length match a naive softmax") {
  for (int64_t n : {1, 3, 10, 31, 32, 33, 100, 5000})
    for (ScalarType type : {kFloat, kDouble})
      for (bool columns : {false, true}) {
        const Tensor base = make_inputs({.cases = {{constant({6, n}, -20, 20)}}}, 0, kDouble)[0];
        const Tensor x = columns ? base.transpose(0, 1).contiguous() : base;
        const int64_t dim = columns ? 0 : 1;
        const auto back = [&](const Tensor& t) { return (columns ? t.transpose(0, 1) : t).to(kDouble).contiguous(); };
        const Tensor y = back(softmax(x.to(type), dim)), log_y = back(log_softmax(x.to(type), dim));
        const double tolerance = type == kFloat ? 2e-6 : 1e-14;
        const double* v = base.data_ptr<double>();
        for (int64_t r = 0; r < 6; ++r) {
          double sum = 0;
          for (int64_t i = 0; i < n; ++i) sum += std::exp(v[r * n + i]);
          for (int64_t i = 0; i < n; ++i) {
            const double expected = v[r * n + i] - std::log(sum);
            REQUIRE(std::abs(log_y.data_ptr<double>()[r * n + i] - expected) <=
                    4 * tolerance * (1 + std::abs(expected)));
            REQUIRE(std::abs(y.data_ptr<double>()[r * n + i] - std::exp(expected)) <=
                    20 * tolerance * std::exp(expected));
          }
        }
      }
}

TEST_CASE("the fused gradient matches the recorded one") {
  for (int64_t dim : {0, 1})
    for (auto* f : {static_cast<Tensor (*)(const Tensor&, int64_t, optional<ScalarType>)>(softmax),
                    static_cast<Tensor (*)(const Tensor&, int64_t, optional<ScalarType>)>(log_softmax)}) {
      const Tensors in = make_inputs({.cases = {{real({300, 70}), constant({300, 70})}}}, 0, kDouble);
      const Tensor y = (f(in[0], dim, nullopt) * in[1]).sum();
      const Tensor fused = autograd::grad({y}, {in[0]}, {}, true)[0];
      const Tensor recorded = autograd::grad({y}, {in[0]}, {}, true, true)[0];
      std::string why;
      CHECK_MESSAGE(close(fused, recorded, 1e-13, &why), why);
    }
}

TEST_CASE("extreme values") {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (ScalarType type : {kFloat, kDouble}) {
    Tensor x = full({2, 40}, -1e4, type);
    x.select(1, 7).fill_(1e4);
    CHECK(softmax(x, 1).select(1, 7).select(0, 0).item<double>() == 1);
    CHECK(softmax(x, 1).select(1, 8).select(0, 0).item<double>() == 0);
    CHECK(log_softmax(x, 1).select(1, 8).select(0, 0).item<double>() == -2e4);
    x.select(1, 3).fill_(-kInf);
    CHECK(log_softmax(x, 1).select(1, 3).select(0, 1).item<double>() == -kInf);
    x.select(1, 3).fill_(std::numeric_limits<double>::quiet_NaN());
    CHECK(std::isnan(softmax(x, 1).select(1, 0).select(0, 0).item<double>()));
    CHECK(std::isnan(softmax(full({4}, -kInf, type), 0).select(0, 0).item<double>()));
  }
}

TEST_CASE("dtype, errors and threads") {
  CHECK(((softmax(ones({4}, kLong), 0, kFloat).dtype() == kFloat)));
  CHECK(softmax(full({}, 3, kFloat), 0).item<float>() == 1);
  CHECK_THROWS_WITH_AS(softmax(ones({4}, kLong), 0),
                       doctest::Contains("softmax: expected a floating point tensor, got [4] int64"), Error);
  CHECK_THROWS_AS(log_softmax(ones({4}), 1), IndexError);
  const Tensor x = make_inputs({.cases = {{constant({300, 7, 90})}}}, 0, kFloat)[0];
  same_bits_on_any_threads([&] { return Tensors{softmax(x, 0), softmax(x, 1), log_softmax(x, 2), log_softmax(x, 0)}; });
}

TEST_CASE("softmax of an empty tensor along a non-empty dimension") {
  CHECK(softmax(zeros({3, 0}), 0).numel() == 0);
  CHECK(log_softmax(zeros({0, 3, 0}), 1).numel() == 0);
}
