// Random distributions: moments of many samples, refused parameters, gradients.
#include <doctest/doctest.h>

#include <cmath>

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
