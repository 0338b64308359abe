// Shrinkage, gates and other activations; RReLU: values from PyTorch 2.15, random properties.
#include "layer_testing.h"

using namespace tandem;
using namespace tandem::testing;
namespace F = tandem::nn::functional;

TEST_CASE("shrinkage, thresholds, gates, PReLU and Gumbel softmax") {
  const Tensor x = row({-2, -0.25, 0.25, 2});
  CHECK(near(nn::Hardshrink()(x), {-2, 0, 0, 2}));
  CHECK(near(nn::Softshrink()(x), {-1.5, 0, 0, 1.5}));
  CHECK(near(nn::Tanhshrink()(x), {-1.0359724, -0.0050813, 0.0050813, 1.0359724}));
  CHECK(near(nn::Threshold(0.0, 9.0)(x), {9, 9, 0.25, 2}));
  CHECK(near(nn::CELU()(x), {-0.8646647, -0.2211992, 0.25, 2}));
  CHECK(near(nn::GLU()(x), {-2 * 0.5621765, -0.25 * 0.8807971}));
  CHECK(near(nn::Softmin(0)(x).sum(), {1}));
  CHECK(nn::Softmax2d()(rand({1, 3, 2, 2})).sum(1).allclose(ones({1, 2, 2})));
  nn::PReLU prelu(nn::PReLUOptions().num_parameters(2));
  prelu(rand({3, 2}) - 1).sum().backward();
  CHECK(prelu->weight.grad().sizes() == IntArrayRef{2});
  const Tensor drawn = F::gumbel_softmax(zeros({50, 4}), F::GumbelSoftmaxFuncOptions().hard(true).dim(1));
  CHECK(drawn.sum(1).allclose(ones({50})));
}

TEST_CASE("rrelu") {
  const Tensor x = wave({1000}).requires_grad_();
  CHECK(allclose(rrelu(x), leaky_relu(x, (0.125 + 1.0 / 3) / 2)));
  const Tensor y = rrelu(x, 0.2, 0.4, true), slope = (y / x).detach();
  CHECK(equal(slope > 0.99, x > 0));
  const Tensor negative = slope.masked_select(x < 0);
  CHECK(negative.min().item<double>() >= 0.2);
  CHECK(negative.max().item<double>() <= 0.4);
  CHECK(negative.std().item<double>() > 0.04);
  y.sum().backward();
  CHECK(allclose(x.grad().narrow(0, 1, 999), slope.narrow(0, 1, 999)));
  nn::RReLU layer(nn::RReLUOptions().lower(0.1).upper(0.3).inplace(true));
  CHECK(text(layer) == "tandem::nn::RReLU(lower=0.1, upper=0.3, inplace=true)");
  layer->eval();
  const Tensor z = x.detach().clone();
  CHECK(layer(z).is_same(z));
  CHECK(allclose(z, leaky_relu(x, 0.2).detach()));
  CHECK_THROWS_AS(rrelu(x, 0.5, 0.1), Error);
}

TEST_CASE("Hardtanh refuses an empty range") {
  const auto words = doctest::Contains("max_val must be greater than min_val");
  CHECK_THROWS_WITH_AS(nn::Hardtanh(nn::HardtanhOptions().min_val(0.5).max_val(0.5)), words, Error);
  nn::Hardtanh layer(nn::HardtanhOptions().min_val(-0.5).max_val(0.5));
  layer->options.min_val(0.7);
  CHECK_THROWS_WITH_AS(layer->reset(), words, Error);
}
