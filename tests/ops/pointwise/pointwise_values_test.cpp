// Values of the elementwise functions against the standard library, at special values, and independent of an
// element's position: tails, strides, threads.
#include <cmath>
#include <cstring>
#include <limits>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/pointwise/activation.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/pointwise/comparison.h"
#include "tandem/autograd/ops/random/random.h"
#include "tandem/core/threads/parallel_for.h"
#include "tandem/tests/ops/pointwise_table.h"
#include "tandem/tests/ops/values.h"

using namespace tandem;
using namespace tandem::testing;

namespace {

constexpr double kInf = std::numeric_limits<double>::infinity(), kNaN = std::numeric_limits<double>::quiet_NaN();

// n irregular values.
Tensor values_between(Interval interval, int64_t n, ScalarType type) {
  Tensor x = rand({n}, TensorOptions(kDouble));
  return (x * (interval.high - interval.low) + interval.low).to(type);
}

// Compares with the standard library on one interval.
void compare(const UnaryFunction& f, Interval interval, ScalarType type, double units) {
  CAPTURE(f.name);
  CAPTURE(name(type));
  const Tensor x = values_between(interval, 3001, type);
  const std::vector<double> in = values(x), out = values(f.function(x, {}));
  const double epsilon =
      type == kFloat ? std::numeric_limits<float>::epsilon() : std::numeric_limits<double>::epsilon();
  for (std::size_t i = 0; i < in.size(); ++i) {
    const double expected = f.exact(in[i]);
    if (!(std::fabs(out[i] - expected) <= units * epsilon * std::fabs(expected) + 1e-37)) {
      FAIL_CHECK("at " << in[i] << ": " << out[i] << ", expected " << expected);
      return;
    }
  }
}

bool same_bits(const Tensor& a, const Tensor& b) {
  const Tensor x = a.contiguous(), y = b.contiguous();
  return x.nbytes() == y.nbytes() && std::memcmp(x.data_ptr(), y.data_ptr(), x.nbytes()) == 0;
}

double at(Tensor (*f)(const Tensor&), double x, ScalarType type) {
  return values(f(full({3}, x, TensorOptions(type))))[1];
}

}  // namespace

TEST_CASE("functions match the standard library to a few units in the last place") {
  for (const UnaryFunction& f : unary_functions()) {
    CHECK((f.exact == nullptr) == f.intervals.empty());
    for (const Interval& interval : f.intervals)
      for (const ScalarType type : {kFloat, kDouble}) compare(f, interval, type, 7);
  }
}

TEST_CASE("an element's value does not depend on its position") {
  const auto check = [](const OpTest& test, Interval interval, ScalarType type) {
    CAPTURE(test.name);
    const auto f = [&](const Tensor& t) { return test.fn({t})[0]; };
    const Tensor x = values_between(interval, 4096, type);
    const Tensor y = f(x);
    // Tails of all lengths, and elements with stride two.
    for (int64_t n : {1, 2, 3, 5, 7, 8, 13, 15, 16, 17, 31, 33, 63})
      CHECK(same_bits(f(x.as_strided({n}, {1}, 64 - n)), y.as_strided({n}, {1}, 64 - n)));
    CHECK(same_bits(f(x.as_strided({2000}, {2}, 1)), y.as_strided({2000}, {2}, 1)));
    CHECK(same_bits(f(x.as_strided({64, 64}, {1, 64}, 0)), y.as_strided({64, 64}, {1, 64}, 0)));
  };
  for (ScalarType type : {kFloat, kDouble})
    for (const UnaryFunction& f : unary_functions()) {
      if (f.types == Drawn::kIntegers) continue;
      for (const OpTest& test : tests_of(f)) {
        check(test, {f.domain.low, f.domain.high}, type);
        for (const Interval& interval : f.intervals) check(test, interval, type);
      }
    }
}

TEST_CASE("special values") {
  for (ScalarType type : {kFloat, kDouble}) {
    CHECK(at(exp, 1000, type) == kInf);
    CHECK(at(exp, -1000, type) == 0);
    CHECK(at(exp, kInf, type) == kInf);
    CHECK(at(exp, -kInf, type) == 0);
    CHECK(at(expm1, -1000, type) == -1);
    CHECK(at(expm1, 1000, type) == kInf);
    CHECK(at(log, 0, type) == -kInf);
    CHECK(at(log, kInf, type) == kInf);
    CHECK(std::isnan(at(log, -1, type)));
    CHECK(at(log2, 8, type) == 3);
    CHECK(at(log1p, -1, type) == -kInf);
    CHECK(at(log1p, kInf, type) == kInf);
    CHECK(at(tanh, 1000, type) == 1);
    CHECK(at(tanh, -kInf, type) == -1);
    CHECK(at(sinh, -kInf, type) == -kInf);
    CHECK(at(cosh, kInf, type) == kInf);
    CHECK(at(asinh, -kInf, type) == -kInf);
    CHECK(at(atan, kInf, type) == doctest::Approx(1.5707963267948966));
    CHECK(at(atanh, 1, type) == kInf);
    CHECK(std::isnan(at(asin, 1.5, type)));
    CHECK(std::isnan(at(sin, kInf, type)));
    CHECK(at(erf, kInf, type) == 1);
    CHECK(at(erfc, kInf, type) == 0);
    CHECK(at(erfc, -kInf, type) == 2);
    CHECK(at(sigmoid, -1000, type) == 0);
    CHECK(at(sigmoid, 1000, type) == 1);
    CHECK(at(sign, -0.0, type) == 0);
    CHECK(at(sign, -7, type) == -1);
    CHECK(at(relu, -3, type) == 0);
    for (auto f : {sigmoid, relu, relu6}) CHECK(std::isnan(at(f, kNaN, type)));
    for (const UnaryFunction& f : unary_functions()) {
      if (f.exact == nullptr) continue;
      CAPTURE(f.name);
      const auto alike = [&](double x) { return values(f.function(full({3}, x, TensorOptions(type)), {}))[1]; };
      CHECK(std::isnan(alike(kNaN)));
      if (const double exact = f.exact(-0.0); exact == 0) CHECK(std::signbit(alike(-0.0)) == std::signbit(exact));
    }
  }
  CHECK(at(exp, -100, kFloat) == doctest::Approx(std::exp(-100.)));  // subnormal
  CHECK(at(log, 1e-40, kFloat) == doctest::Approx(std::log(1e-40)).epsilon(1e-4));
}

TEST_CASE("infinite and undefined values") {
  Tensor x = full({4}, 1.0);
  x.data_ptr<float>()[1] = std::numeric_limits<float>::infinity();
  x.data_ptr<float>()[2] = -std::numeric_limits<float>::infinity();
  x.data_ptr<float>()[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(show(isnan(x)) == "[4] 0 0 0 1");
  CHECK(show(isinf(x)) == "[4] 0 1 1 0");
  CHECK(show(isfinite(x)) == "[4] 1 0 0 0");
  CHECK(show(nan_to_num(x, 5., 6., 7.)) == "[4] 1 6 7 5");
  CHECK(values(nan_to_num(x))[2] == std::numeric_limits<float>::lowest());
  CHECK(show(isfinite(arange(2))) == "[2] 1 1");
  CHECK(show(isnan(arange(2))) == "[2] 0 0");
  CHECK(!equal(x, x));
  CHECK(!allclose(x, x));
  CHECK(allclose(x, x, 1e-5, 1e-8, /*equal_nan=*/true));
  CHECK(std::isnan(values(maximum(x, zeros({4})))[3]));
  CHECK(std::isnan(values(minimum(zeros({4}), x))[3]));
  CHECK(std::isnan(values(clamp(x, Scalar(0), Scalar(1)))[3]));
  CHECK(std::isnan(values(clamp_max(x, kNaN))[0]));
  for (const double below_one : {-kInf, -1e30, -9.0, 0.5}) CHECK(std::isnan(acosh(full({}, below_one)).item<float>()));
}

TEST_CASE("incomplete gamma functions that are others") {
  const auto at = [](Tensor (*f)(const Tensor&, const Tensor&), double a, double x) {
    return f(full({1}, a, kDouble), full({1}, x, kDouble)).item<double>();
  };
  for (const double x : {1e-8, 0.01, 0.5, 1.0, 1.0999, 1.1001, 1.5, 1.999, 2.0, 4.0, 9.0, 11.0, 30.0}) {
    CAPTURE(x);
    const double root = std::sqrt(x), decay = std::exp(-x);
    CHECK(at(igamma, 0.5, x) == doctest::Approx(std::erf(root)).epsilon(1e-13));
    CHECK(at(igammac, 0.5, x) == doctest::Approx(std::erfc(root)).epsilon(1e-13));
    CHECK(at(igamma, 1, x) == doctest::Approx(-std::expm1(-x)).epsilon(1e-13));
    CHECK(at(igammac, 1, x) == doctest::Approx(decay).epsilon(1e-13));
    CHECK(at(igammac, 2, x) == doctest::Approx((1 + x) * decay).epsilon(1e-13));
    double sum = 0, term = 1;
    for (int k = 1; k <= 12; ++k, term *= x / (k - 1)) sum += term;
    CHECK(at(igammac, 12, x) == doctest::Approx(sum * decay).epsilon(1e-13));
  }
  CHECK(at(igammac, 1e-3, 0.25) == doctest::Approx(0.00104434438027).epsilon(1e-9));
}

TEST_CASE("lerp starts from the nearer end") {
  const auto at = [](float a, float b, double weight) { return lerp(tensor({a}), tensor({b}), weight).item<float>(); };
  const float a = 1e8f, b = 1.1f;
  CHECK(at(a, b, 0.5) == b - (b - a) * 0.5f);
  CHECK(at(a, b, 0.25) == a + 0.25f * (b - a));
  CHECK(at(a, b, 1) == b);
  CHECK(at(a, b, -0.5) == b - (b - a) * 1.5f);
  CHECK(at(a, b, -0.25) == a + -0.25f * (b - a));
  CHECK(at(a, b, 0) == a);
  // From 0 to 1 it is the weight itself, of which 1 - (1 - weight) loses the last bit.
  for (const float weight : {0.3f, 0x1.fffffep-2f, -0.3f, -0x1.fffffep-2f}) CHECK(at(0, 1, weight) == weight);
}

TEST_CASE("clamp limits numbers and keeps NaN, of the values and of the bounds") {
  for (const ScalarType dtype : {kFloat, kDouble}) {
    Tensor x = linspace(-50, 50, 101, TensorOptions(dtype));  // whole vectors and a remainder
    x[7].fill_(kNaN);
    for (const auto& [low, high] : {std::pair{-3.0, 4.0}, {4.0, -3.0}, {-kInf, 4.0}, {-3.0, kInf}}) {
      const std::vector<double> given = values(x), found = values(clamp(x, Scalar(low), Scalar(high)));
      for (std::size_t i = 0; i < given.size(); ++i)
        if (i == 7)
          CHECK(std::isnan(found[i]));
        else
          CHECK_EQ(found[i], std::min(std::max(given[i], low), high));
    }
    for (const auto& [low, high] : {std::pair{kNaN, 4.0}, {-3.0, kNaN}, {kNaN, kNaN}})
      CHECK(isnan(clamp(x, Scalar(low), Scalar(high))).all().item<bool>());
  }
}

TEST_CASE("the same bits on any number of threads") {
  const int before = get_num_threads();
  const Tensor x = randn({300, 401}), y = rand({300, 401}) + 0.5;
  std::vector<Tensor> first;
  for (int threads : {1, 2, 5}) {
    set_num_threads(threads);
    const std::vector<Tensor> now = {exp(x), gelu(x), x / y, pow(y, x), relu(x), x.transpose(0, 1) * 3, x - y.sum(0)};
    if (first.empty()) first = now;
    for (std::size_t i = 0; i < now.size(); ++i) CHECK(same_bits(first[i], now[i]));
  }
  set_num_threads(before);
}
