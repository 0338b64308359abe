// Random distributions: moments of many samples, refused parameters, gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "tandem/tandem.h"

using namespace tandem;

namespace {

constexpr int64_t kCount = 200000;

void check_moments(const Tensor& samples, double mean, double variance) {
  const Tensor x = samples.to(kDouble);
  const double n = static_cast<double>(x.numel());
  CHECK(std::fabs(x.mean().item<double>() - mean) < 5 * std::sqrt(variance / n));
  CHECK(x.var().item<double>() == doctest::Approx(variance).epsilon(0.05));
}

}  // namespace

TEST_CASE("poisson counts have the rate as mean and variance") {
  manual_seed(1);
  for (const double rate : {0.3, 4.0, 9.9, 10.0, 35.5, 1e4}) {
    const Tensor x = poisson(full({kCount}, rate, kDouble));
    check_moments(x, rate, rate);
    CHECK(equal(x, x.round()));
    CHECK(x.min().item<double>() >= 0);
  }
  CHECK(equal(poisson(zeros({3})), zeros({3})));
  CHECK((poisson(full({2}, 5, kHalf)).dtype() == kHalf));
  CHECK_THROWS_WITH_AS(poisson(tensor({-1.0})), doctest::Contains("negative"), Error);
  CHECK_THROWS_AS(poisson(tensor({1})), Error);
}

TEST_CASE("poisson probabilities on both sides of the change of algorithm") {
  manual_seed(2);
  for (const double rate : {3.0, 20.0}) {
    const Tensor x = poisson(full({kCount}, rate, kDouble));
    for (int k = 0; k < 30; k += 3) {
      const double p = std::exp(k * std::log(rate) - rate - std::lgamma(k + 1.0));
      const double seen = (x == k).to(kDouble).mean().item<double>();
      CHECK(std::fabs(seen - p) < 5 * std::sqrt(p / static_cast<double>(kCount)) + 1e-5);
    }
  }
}

TEST_CASE("binomial counts") {
  manual_seed(3);
  const auto [n, p] = std::pair(40.0, 0.3);
  for (const auto& [count, prob] :
       {std::pair(n, p), std::pair(n, 1 - p), std::pair(100.0, 0.02), std::pair(3.0, 0.5), std::pair(1e5, 0.4)}) {
    const Tensor x = binomial(full({kCount}, count, kDouble), full({}, prob, kDouble));
    check_moments(x, count * prob, count * prob * (1 - prob));
    CHECK(x.min().item<double>() >= 0);
    CHECK(x.max().item<double>() <= count);
  }
  CHECK(equal(binomial(tensor({5.0, 5.0, 0.0}), tensor({0.0, 1.0, 0.5})), tensor({0.0, 5.0, 0.0})));
  const double nan = std::nan("");
  CHECK(binomial(tensor({5.0, nan, 0.0, nan}), tensor({nan, 0.5, nan, 0.0})).isnan().all().item<bool>());
  CHECK_THROWS_AS(binomial(tensor({5}), tensor({0.5})), Error);
}

TEST_CASE("transformed distributions") {
  manual_seed(4);
  Tensor x = empty({kCount}, kDouble);
  check_moments(geometric_(x, 0.25), 4, 12);
  CHECK(x.min().item<double>() == 1);
  CHECK((geometric(empty({100}, kInt), 0.5).dtype() == kInt));
  check_moments(log_normal_(x, 0.5, 0.25).log(), 0.5, 0.0625);
  const Tensor c = cauchy_(x, 2, 3);  // its median and quartiles
  CHECK(c.quantile(0.5).item<double>() == doctest::Approx(2).epsilon(0.03));
  CHECK(c.quantile(0.75).item<double>() == doctest::Approx(5).epsilon(0.03));
  check_moments(uniform(x, -1, 1), 0, 1.0 / 3);
  check_moments(exponential(x, 2), 0.5, 0.25);
  CHECK(random(empty({100}, kLong), 3, 5).min().item<int64_t>() >= 3);
  CHECK_THROWS_AS(geometric_(x, 1), Error);
  CHECK_THROWS_AS(cauchy_(x, 0, 0), Error);
  CHECK_THROWS_AS(log_normal_(x, 0, -1), Error);
}

TEST_CASE("the same seed draws the same counts, and gradients are 0") {
  const Tensor rates = full({50}, 12.5).requires_grad_();
  const Tensor first = poisson(rates, make_generator(7));
  CHECK(equal(first, poisson(rates, make_generator(7))));
  CHECK_FALSE(equal(first, poisson(rates, make_generator(8))));
  first.sum().backward();
  CHECK(equal(rates.grad(), zeros({50})));
}

TEST_CASE("the draws of a seed: a regression") {
  // Sums of draws that are weighted by their place.
  const auto sum = [](const Tensor& x) {
    return (x.to(kDouble) * arange(x.numel(), kDouble).sin()).sum().item<double>();
  };
  using Draw = std::function<Tensor(const Tensor&)>;
  struct Row {
    const char* name;
    Draw draw;
    double in_float, in_double;
  };
  const Row rows[] = {
      {"uniform", [](const Tensor& t) { return t.clone().uniform_(-2, 3); }, -16.273932198, 87.4185781222},
      {"normal", [](const Tensor& t) { return t.clone().normal_(1, 2); }, -40.0228449295, -122.237712684},
      {"exponential", [](const Tensor& t) { return t.clone().exponential_(1.5); }, 18.7227387043, -40.4835662059},
      {"cauchy", [](const Tensor& t) { return cauchy(t, 0.5, 2); }, 673.507563066, 673.507467098},
      {"log_normal", [](const Tensor& t) { return log_normal(t, 0, 0.5); }, -38.0015433002, -38.0015415624},
      {"geometric", [](const Tensor& t) { return geometric(t, 0.2); }, -265.473007467, -265.473007467},
      {"bernoulli", [](const Tensor& t) { return t.clone().bernoulli_(0.3); }, 12.2641487381, 12.2641487381},
      {"random", [](const Tensor& t) { return random(t, -5, 1000); }, 17893.14907, 17893.14907},
      {"gamma", [](const Tensor& t) { return _standard_gamma(t + 0.5); }, -31.3571361304, -31.3571370294},
      {"large gamma", [](const Tensor& t) { return _standard_gamma(t + 5); }, -137.424292471, -137.424294935},
      {"poisson of 0.5", [](const Tensor& t) { return poisson(t + 0.5); }, -31.8051979883, -31.8051979883},
      {"poisson of 9", [](const Tensor& t) { return poisson(t + 9); }, -103.15594788, -103.15594788},
      {"poisson of 12", [](const Tensor& t) { return poisson(t + 12); }, 14.9924289291, 14.9924289291},
      {"poisson of 1000", [](const Tensor& t) { return poisson(t + 1000); }, 671.263901553, 671.263901553},
      {"binomial of 3", [](const Tensor& t) { return binomial(t + 3, t + 0.25); }, -24.5149660601, -24.5149660601},
      {"binomial of 50", [](const Tensor& t) { return binomial(t + 50, t + 0.3); }, 59.3059081051, 59.3059081051},
      {"binomial of 1000", [](const Tensor& t) { return binomial(t + 1000, t + 0.75); }, 699.039200468, 699.039200468}};
  for (const Row& row : rows)
    for (const ScalarType dtype : {kFloat, kDouble}) {
      CAPTURE(row.name);
      CAPTURE(dtype);
      manual_seed(7);
      const double found = sum(row.draw(zeros({2000}, TensorOptions(dtype))));
      CHECK(found == doctest::Approx(dtype == kFloat ? row.in_float : row.in_double).epsilon(1e-10));
    }
  for (const auto& [to, expected] :
       {std::pair(int64_t{10}, 220.286594473258), std::pair(int64_t{1} << 40, 5810009605536.63)}) {
    manual_seed(7);
    CHECK(sum(random(zeros({2000}, kLong), -3, to)) == doctest::Approx(expected).epsilon(1e-12));
  }
}
