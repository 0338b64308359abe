// Initialisation: ranges, moments and exact patterns.
#include "tandem/nn/init.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/linalg/matmul.h"
#include "tandem/nn/layers/linear.h"

using namespace tandem;

namespace {

struct Moments {
  double mean = 0, std = 0, least = 1e300, most = -1e300;
};
Moments moments(const Tensor& t) {
  Moments m;
  const float* x = t.data_ptr<float>();
  for (int64_t i = 0; i < t.numel(); ++i) {
    m.mean += x[i];
    m.least = std::fmin(m.least, x[i]);
    m.most = std::fmax(m.most, x[i]);
  }
  m.mean /= static_cast<double>(t.numel());
  for (int64_t i = 0; i < t.numel(); ++i) m.std += (x[i] - m.mean) * (x[i] - m.mean);
  m.std = std::sqrt(m.std / static_cast<double>(t.numel()));
  return m;
}

}  // namespace

TEST_CASE("bounds and moments") {
  manual_seed(1);
  const Tensor w = empty({200, 100});
  const auto within = [](const Moments& m, double bound) {
    CHECK(m.least >= -bound);
    CHECK(m.most <= bound);
    CHECK(m.most > 0.99 * bound);
    CHECK(std::fabs(m.mean) < 0.02 * bound);
  };
  within(moments(nn::init::kaiming_uniform_(w, std::sqrt(5.0))), 1 / std::sqrt(100.0));
  within(moments(nn::init::xavier_uniform_(w)), std::sqrt(6.0 / 300));
  CHECK(moments(nn::init::xavier_normal_(w, 2)).std == doctest::Approx(2 * std::sqrt(2.0 / 300)).epsilon(0.03));
  CHECK(moments(nn::init::kaiming_normal_(w, 0, kFanOut, kReLU)).std ==
        doctest::Approx(std::sqrt(2.0 / 200)).epsilon(0.03));
  const Moments n = moments(nn::init::normal_(w, 3, 0.5));
  CHECK(n.mean == doctest::Approx(3).epsilon(0.01));
  CHECK(n.std == doctest::Approx(0.5).epsilon(0.03));
  CHECK(nn::init::calculate_fans(empty({8, 4, 3, 5})).in == 60);
  CHECK(nn::init::calculate_fans(empty({8, 4, 3, 5})).out == 120);
  CHECK_THROWS_AS(nn::init::xavier_uniform_(empty({3})), Error);
}

TEST_CASE("initial values of Linear") {
  manual_seed(2);
  nn::Linear fc(400, 50);
  CHECK(moments(fc->weight).most <= 0.05);
  CHECK(moments(fc->weight).most > 0.0499);
  CHECK(moments(fc->bias).most <= 0.05);
  CHECK(moments(fc->bias).least < 0);
  manual_seed(2);
  nn::Linear same(400, 50);
  CHECK(same->weight.data_ptr<float>()[77] == fc->weight.data_ptr<float>()[77]);
}

TEST_CASE("patterns") {
  const Tensor eye = nn::init::eye_(empty({2, 3}));
  for (int64_t i = 0; i < 6; ++i) CHECK(eye.data_ptr<float>()[i] == (i % 4 == 0 ? 1 : 0));
  const Tensor dirac = nn::init::dirac_(empty({2, 2, 3, 3}));
  for (int64_t i = 0; i < 36; ++i) CHECK(dirac.data_ptr<float>()[i] == (i == 4 || i == 31 ? 1 : 0));
  CHECK(nn::init::constant_(empty({2}), 4).data_ptr<float>()[1] == 4);

  for (const auto& [rows, columns] : {std::pair<int64_t, int64_t>{3, 7}, {7, 3}}) {
    const Tensor q = nn::init::orthogonal_(empty({rows, columns}), 2);
    const Tensor product = rows < columns ? mm(q, q.t()) : mm(q.t(), q);
    for (int64_t i = 0; i < 9; ++i)
      CHECK(product.data_ptr<float>()[i] == doctest::Approx(i % 4 == 0 ? 4 : 0).epsilon(1e-5));
  }
  const Tensor sparse = nn::init::sparse_(empty({10, 4}), 0.25);
  int zeros = 0;
  for (int64_t i = 0; i < 40; ++i) zeros += sparse.data_ptr<float>()[i] == 0;
  CHECK(zeros == 12);
}

TEST_CASE("gains") {
  CHECK(nn::init::calculate_gain(kLinear) == 1);
  CHECK(nn::init::calculate_gain(kReLU) == doctest::Approx(std::sqrt(2.0)));
  CHECK(nn::init::calculate_gain(kLeakyReLU, 0.2) == doctest::Approx(std::sqrt(2 / 1.04)));
  CHECK(nn::init::calculate_gain(kTanh) == doctest::Approx(5.0 / 3));
}

TEST_CASE("initialisation is not recorded") {
  const Tensor w = zeros({2, 2}, requires_grad());
  nn::init::ones_(w);
  CHECK(w.is_leaf());
  CHECK(w.data_ptr<float>()[3] == 1);
}
