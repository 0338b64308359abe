// Random tensors: the distributions (moments, chi-square and Kolmogorov-Smirnov at fixed seeds), and that
// element i depends only on seed, offset and i.
#include "tandem/autograd/ops/random/random.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/pointwise/arithmetic.h"
#include "tandem/autograd/ops/view/view.h"
#include "tandem/core/threads/parallel_for.h"

using namespace tandem;

namespace {

std::vector<double> values(const Tensor& t) {
  const Tensor d = t.detach().to(kDouble).contiguous();
  return {d.data_ptr<double>(), d.data_ptr<double>() + d.numel()};
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, kurtosis = 0;
};
Moments moments(const std::vector<double>& x) {
  Moments m;
  for (double v : x) m.mean += v / static_cast<double>(x.size());
  for (double v : x) {
    const double d = v - m.mean;
    m.variance += d * d;
    m.skew += d * d * d;
    m.kurtosis += d * d * d * d;
  }
  const auto n = static_cast<double>(x.size());
  m.variance /= n;
  m.skew /= n * std::pow(m.variance, 1.5);
  m.kurtosis /= n * m.variance * m.variance;
  return m;
}

// sqrt(n) times the largest distance from the distribution function: exceeds 1.95 once in 1000 runs.
template <class F>
double kolmogorov(std::vector<double> x, F&& distribution) {
  std::sort(x.begin(), x.end());
  const auto n = static_cast<double>(x.size());
  double most = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double f = distribution(x[i]);
    most = std::max({most, std::abs(f - static_cast<double>(i) / n), std::abs(f - static_cast<double>(i + 1) / n)});
  }
  return most * std::sqrt(n);
}

// Standardised chi-square of counts with equal expectation: exceeds 3.5 less than once in 1000 runs.
double chi_square(const std::vector<int64_t>& counts) {
  int64_t total = 0;
  for (int64_t c : counts) total += c;
  const double expected = static_cast<double>(total) / static_cast<double>(counts.size());
  double sum = 0;
  for (int64_t c : counts) sum += std::pow(static_cast<double>(c) - expected, 2) / expected;
  const auto freedom = static_cast<double>(counts.size() - 1);
  return (sum - freedom) / std::sqrt(2 * freedom);
}

bool same_bits(const Tensor& a, const Tensor& b) {
  return a.sizes() == b.sizes() && a.dtype() == b.dtype() &&
         std::memcmp(a.contiguous().data_ptr(), b.contiguous().data_ptr(), a.nbytes()) == 0;
}

const TensorOptions kTypes[] = {kFloat, kDouble};

}  // namespace

TEST_CASE("rand: uniform in [0, 1)") {
  for (const auto& type : kTypes) {
    const auto x = values(rand({400, 500}, make_generator(1), type));
    CHECK(*std::min_element(x.begin(), x.end()) >= 0);
    CHECK(*std::max_element(x.begin(), x.end()) < 1);
    CHECK(kolmogorov(x, [](double v) { return v; }) < 1.95);
    const Moments m = moments(x);
    CHECK(m.mean == doctest::Approx(0.5).epsilon(0.005));
    CHECK(m.variance == doctest::Approx(1.0 / 12).epsilon(0.01));
  }
}

TEST_CASE("randn: standard normal, neighbours uncorrelated") {
  for (const auto& type : kTypes) {
    const auto x = values(randn({200000}, make_generator(2), type));
    CHECK(kolmogorov(x, [](double v) { return 0.5 * std::erfc(-v / std::sqrt(2.0)); }) < 1.95);
    const Moments m = moments(x);
    CHECK(std::abs(m.mean) < 0.01);
    CHECK(std::abs(m.variance - 1) < 0.015);
    CHECK(std::abs(m.skew) < 0.025);
    CHECK(std::abs(m.kurtosis - 3) < 0.05);
    for (std::size_t lag : {1u, 2u, 3u, 4u, 32u, 64u}) {
      double sum = 0;
      for (std::size_t i = lag; i < x.size(); ++i) sum += x[i] * x[i - lag];
      CHECK(std::abs(sum) / std::sqrt(static_cast<double>(x.size())) < 3.5);
    }
  }
}

TEST_CASE("exponential_, bernoulli_, normal_, uniform_ with parameters") {
  const auto g = make_generator(3);
  const auto e = values(empty({200000}).exponential_(2, g));
  CHECK(*std::min_element(e.begin(), e.end()) > 0);
  CHECK(kolmogorov(e, [](double v) { return 1 - std::exp(-2 * v); }) < 1.95);
  CHECK(moments(values(empty({100000}).bernoulli_(0.3, g))).mean == doctest::Approx(0.3).epsilon(0.02));
  CHECK(moments(values(empty({1000}, kBool).bernoulli_(0, g))).mean == 0);
  CHECK(moments(values(empty({1000}, kHalf).bernoulli_(1, g))).mean == doctest::Approx(1));
  const Moments n = moments(values(empty({100000}, kDouble).normal_(5, 0.01, g)));
  CHECK(n.mean == doctest::Approx(5).epsilon(1e-4));
  CHECK(std::sqrt(n.variance) == doctest::Approx(0.01).epsilon(0.02));
  for (ScalarType type : {kFloat, kDouble, kHalf, kBFloat16}) {
    const auto u = values(empty({100000}, type).uniform_(-3, 7, g));
    CHECK(*std::min_element(u.begin(), u.end()) >= -3);
    CHECK(*std::max_element(u.begin(), u.end()) < 7);
    CHECK(moments(u).mean == doctest::Approx(2).epsilon(0.03));
  }
}

TEST_CASE("a dropout mask is the same for every dtype") {
  const Tensor mask = empty({4, 1000}).bernoulli_(0.5, make_generator(4));
  for (ScalarType type : {kBool, kDouble, kLong, kByte, kBFloat16})
    CHECK(same_bits(empty({4, 1000}, type).bernoulli_(0.5, make_generator(4)).to(kFloat), mask));
}

TEST_CASE("randint: uniform and in range, for every range") {
  std::vector<int64_t> counts(1000);
  for (double v : values(randint(-300, 700, {500000}, make_generator(5))))
    ++counts.at(static_cast<std::size_t>(v + 300));
  CHECK(std::abs(chi_square(counts)) < 3.5);
  // All of int64 except the largest value, in 64 equal classes, and its low bits.
  std::vector<int64_t> high(64), low(64);
  const Tensor wide = randint(INT64_MIN, INT64_MAX, {100000}, make_generator(6));
  for (int64_t i = 0; i < wide.numel(); ++i) {
    const auto v = static_cast<uint64_t>(wide.data_ptr<int64_t>()[i]);
    ++high[v >> 58];
    ++low[v & 63];
  }
  CHECK(std::abs(chi_square(high)) < 3.5);
  CHECK(std::abs(chi_square(low)) < 3.5);
  CHECK(randint(5, 6, {3}).data_ptr<int64_t>()[2] == 5);
  CHECK(((randint(10, {2}, kByte).dtype() == kByte)));
  CHECK_THROWS_WITH_AS(randint(3, 3, {2}), doctest::Contains("low < high"), Error);
  CHECK_THROWS_WITH_AS(randint(257, {2}, kByte), doctest::Contains("does not fit in uint8"), Error);
  const auto full = values(empty({10000}, kChar).random_(make_generator(7)));
  CHECK(*std::min_element(full.begin(), full.end()) == 0);
  CHECK(*std::max_element(full.begin(), full.end()) == 127);
}

TEST_CASE("randperm: a permutation; each of the 24 orders of four is equally likely") {
  const auto x = values(randperm(1000, make_generator(8)));
  CHECK(std::set<double>(x.begin(), x.end()).size() == 1000);
  CHECK(*std::max_element(x.begin(), x.end()) == 999);
  std::vector<int64_t> counts(256);
  const auto g = make_generator(9);
  for (int i = 0; i < 24000; ++i) {
    const Tensor p = randperm(4, g);
    std::size_t code = 0;
    for (int k = 0; k < 4; ++k) code = code * 4 + static_cast<std::size_t>(p.data_ptr<int64_t>()[k]);
    ++counts[code];
  }
  std::erase(counts, 0);
  CHECK(counts.size() == 24);
  CHECK(std::abs(chi_square(counts)) < 3.5);
  CHECK(randperm(0).numel() == 0);
  CHECK(((randperm(3, kInt).dtype() == kInt)));
}

TEST_CASE("multinomial with replacement follows the weights") {
  const Tensor weights = arange(8, kFloat).view({2, 4});  // 0 1 2 3, 4 5 6 7
  const Tensor drawn = multinomial(weights, 60000, true, make_generator(10));
  CHECK(drawn.sizes() == IntArrayRef({2, 60000}));
  double counts[2][4] = {};
  for (int64_t i = 0; i < drawn.numel(); ++i) ++counts[i / 60000][drawn.data_ptr<int64_t>()[i]];
  CHECK(counts[0][0] == 0);
  for (int c = 0; c < 4; ++c) {
    CHECK(counts[0][c] / 60000 == doctest::Approx(c / 6.0).epsilon(0.03));
    CHECK(counts[1][c] / 60000 == doctest::Approx((4 + c) / 22.0).epsilon(0.03));
  }
}

TEST_CASE("multinomial without replacement") {
  const Tensor weights = arange(4, kDouble);
  double first[4] = {};
  const auto g = make_generator(11);
  for (int i = 0; i < 20000; ++i) {
    const Tensor s = multinomial(weights, 3, false, g);
    const int64_t* p = s.data_ptr<int64_t>();
    ++first[p[0]];
    REQUIRE((p[0] != p[1] && p[1] != p[2] && p[0] != p[2]));
  }
  for (int c = 0; c < 4; ++c) CHECK(first[c] / 20000 == doctest::Approx(c / 6.0).epsilon(0.05));
  CHECK_THROWS_WITH_AS(multinomial(weights, 4), doctest::Contains("only 3 positive"), Error);
  CHECK_THROWS_WITH_AS(multinomial(weights, 5), doctest::Contains("from 4 weights"), Error);
  CHECK_THROWS_WITH_AS(multinomial(weights * -1, 1), doctest::Contains("not negative"), Error);
  CHECK_THROWS_WITH_AS(multinomial(zeros({3}), 1, true), doctest::Contains("are 0"), Error);
}

TEST_CASE("bernoulli of probabilities, normal of tensors") {
  const Tensor p = arange(2, kFloat).expand({50000, 2});
  const auto x = values(bernoulli(p, make_generator(12)));
  CHECK(moments(x).mean == doctest::Approx(0.5));
  CHECK(x[1] == 1);
  CHECK_THROWS_WITH_AS(bernoulli(p * 2), doctest::Contains("probabilities"), Error);
  const Tensor n = normal(full({1}, 3.0), full({100000, 1}, 0.5), make_generator(13));
  CHECK(n.sizes() == IntArrayRef({100000, 1}));
  CHECK(moments(values(n)).mean == doctest::Approx(3).epsilon(0.01));
  CHECK(moments(values(normal(2, 4, {100000}, make_generator(14)))).variance == doctest::Approx(16).epsilon(0.02));
}

TEST_CASE("elements depend only on seed, offset and position") {
  const auto draw = [](int64_t n, auto fill) {
    Tensor t = empty({n}, kDouble);
    fill(t, make_generator(15));
    return t;
  };
  const auto check_all = [&](auto fill) {
    const int threads = get_num_threads();
    const Tensor whole = draw(100003, fill);
    for (int64_t n : {1, 3, 31, 32, 33, 16384, 16385, 70001}) {
      Tensor part = draw(n, fill);
      CHECK(same_bits(part, alias(whole, {n}, {1}, 0)));
    }
    for (int count : {1, 3, 4}) {
      set_num_threads(count);
      CHECK(same_bits(draw(100003, fill), whole));
    }
    set_num_threads(threads);
    Tensor columns = empty({33, 101}, kDouble).transpose(0, 1);  // the logical order counts, not the memory order
    fill(columns, make_generator(15));
    CHECK(same_bits(columns.reshape({33 * 101}), alias(whole, {33 * 101}, {1}, 0)));
  };
  check_all([](Tensor& t, const Generator& g) { t.uniform_(0, 1, g); });
  check_all([](Tensor& t, const Generator& g) { t.normal_(0, 1, g); });
  check_all([](Tensor& t, const Generator& g) { t.exponential_(1, g); });
  check_all([](Tensor& t, const Generator& g) { t.bernoulli_(0.5, g); });
  check_all([](Tensor& t, const Generator& g) { t.random_(0, 10, g); });
}

TEST_CASE("the values for a seed never change") {
  const Tensor u = rand({2}, make_generator(0));
  CHECK(u.data_ptr<float>()[0] == static_cast<float>(0x6627e8) * 0x1p-24f);
  CHECK(u.data_ptr<float>()[1] == static_cast<float>(0xe169c5) * 0x1p-24f);
  CHECK(rand({1}, make_generator(0), kDouble).item<double>() ==
        static_cast<double>(0x6627e8d5e169c58dull >> 11) * 0x1p-53);
}

TEST_CASE("seed and offset are the complete state of a generator") {
  Generator g(42);
  rand({3}, g);
  const uint64_t offset = g.offset();
  const Tensor a = randn({5}, g);
  CHECK(g.offset() == offset + 1);
  Generator resumed(g.current_seed());
  resumed.set_offset(offset);
  CHECK(same_bits(randn({5}, resumed), a));
  CHECK_FALSE(same_bits(randn({5}, resumed), a));
  manual_seed(7);
  const Tensor first = rand({4});
  manual_seed(7);
  CHECK(same_bits(rand({4}), first));
}

TEST_CASE("like, requires_grad, empty tensors, wrong dtypes") {
  const Tensor x = empty({2, 3}, kDouble);
  CHECK(((rand_like(x).dtype() == kDouble)));
  CHECK(((randn_like(x, kFloat).dtype() == kFloat)));
  CHECK(randint_like(x, 3).sizes() == x.sizes());
  CHECK(rand({2}, requires_grad()).requires_grad());
  CHECK(rand({0, 3}).numel() == 0);
  CHECK_THROWS_WITH_AS(rand({2}, kLong), doctest::Contains("floating point"), Error);
  CHECK_THROWS_WITH_AS(empty({2}, kLong).normal_(), doctest::Contains("floating point"), Error);
  CHECK_THROWS_WITH_AS(empty({2}).normal_(0, -1), doctest::Contains(">= 0"), Error);
  CHECK_THROWS_WITH_AS(ones({2}).expand({3, 2}).uniform_(), doctest::Contains("overlaps itself"), Error);
}

TEST_CASE("a filled tensor passes no gradient; a tensor fill value gets the sum") {
  Tensor x = ones({2, 3}, requires_grad());
  Tensor y = x * 2;
  y.normal_();
  y.sum().backward();
  CHECK(values(x.grad()) == std::vector<double>(6, 0));
  Tensor v = full({}, 4.0, requires_grad());
  Tensor z = x * 3;
  z.fill_(v);
  CHECK(values(z) == std::vector<double>(6, 4));
  z.sum().backward();
  CHECK(v.grad().item<float>() == 6);
  Tensor w = x * 1;
  w.zero_();
  CHECK(w.requires_grad());
  CHECK(values(w) == std::vector<double>(6, 0));
  CHECK_THROWS_WITH_AS(x.zero_(), doctest::Contains("leaf"), Error);
}

TEST_CASE("linspace, logspace, eye") {
  CHECK(values(linspace(0, 1, 5)) == std::vector<double>{0, 0.25, 0.5, 0.75, 1});
  CHECK(values(linspace(3, -3, 2, kDouble)) == std::vector<double>{3, -3});
  CHECK(values(linspace(2, 9, 1)) == std::vector<double>{2});
  CHECK(linspace(0, 1, 0).numel() == 0);
  CHECK(values(linspace(0, 10, 5, kLong)) == std::vector<double>{0, 2, 5, 7, 10});
  CHECK(values(logspace(0, 3, 4)) == std::vector<double>{1, 10, 100, 1000});
  CHECK(values(logspace(0, 3, 4, 2)) == std::vector<double>{1, 2, 4, 8});
  CHECK(values(eye(2, 3)) == std::vector<double>{1, 0, 0, 0, 1, 0});
  CHECK(values(eye(3, 2)) == std::vector<double>{1, 0, 0, 1, 0, 0});
  CHECK(((eye(2, kLong).dtype() == kLong)));
  CHECK(eye(0).numel() == 0);
  CHECK_THROWS_WITH_AS(linspace(0, 1, -1), doctest::Contains("steps"), Error);
}
