// Dropout, and dropout for SELU.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("alpha_dropout keeps mean and variance") {
  manual_seed(3);
  const Tensor x = randn({400, 500});
  for (const double p : {0.1, 0.5}) {
    const Tensor y = alpha_dropout(x, p, true);
    CHECK(std::abs(y.mean().item<double>()) < 0.02);
    CHECK(std::abs(y.var().item<double>() - 1) < 0.03);
    const Tensor z = feature_alpha_dropout(x.view({400, 100, 5}), p, true);
    CHECK(std::abs(z.var().item<double>() - 1) < 0.05);
    // A dropped channel is constant.
    const double constant = ((z - z.narrow(2, 0, 1)).abs().amax(IntArrayRef(2)) == 0).to(kDouble).mean().item<double>();
    CHECK(std::abs(constant - p) < 0.02);
  }
  CHECK(alpha_dropout(x, 0.5, false).is_same(x));
  CHECK(alpha_dropout(x, 1, true).abs().sum().item<double>() == 0);
  nn::AlphaDropout layer(0.5);
  nn::FeatureAlphaDropout channels(nn::FeatureAlphaDropoutOptions(0.5).inplace(true));
  CHECK(text(layer) == "tandem::nn::AlphaDropout(p=0.5, inplace=false)");
  CHECK(text(channels) == "tandem::nn::FeatureAlphaDropout(p=0.5, inplace=true)");
  const Tensor y = x.clone();
  CHECK(channels(y).is_same(y));
  CHECK_FALSE(equal(x, y));
  CHECK(F::alpha_dropout(x).is_same(x));
  layer->eval();
  CHECK(equal(layer(x), x));
  CHECK_THROWS_AS(nn::AlphaDropout(1.5), Error);
}

TEST_CASE("Dropout") {
  for (double p : {1.5, -0.1, std::nan("")}) {
    CHECK_THROWS_WITH_AS(nn::Dropout{p}, doctest::Contains("between 0 and 1"), Error);
    CHECK_THROWS_WITH_AS(nn::Dropout2d{p}, doctest::Contains("between 0 and 1"), Error);
  }
  nn::Dropout drop(0.25);
  const Tensor x = ones({1000});
  const Tensor y = drop(x);
  const double kept = (y > 0).sum().item<double>();
  CHECK(kept > 690);
  CHECK(kept < 810);
  CHECK(y.max().item<float>() == doctest::Approx(1 / 0.75));
  drop->eval();
  CHECK(drop(x).equal(x));
  const Tensor planes = nn::Dropout2d(0.5)(ones({10, 10, 4, 4})).sum({2, 3});
  CHECK(((planes == 0).sum() + (planes == 32).sum()).item<int64_t>() == 100);
}
