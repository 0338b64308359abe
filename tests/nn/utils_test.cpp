// Gradient clipping; parameters as a vector; moving averages.
#include "tandem/nn/utils.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/autograd/ops/factories/tensor_literal.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/layers/batch_norm.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/moving_average.h"
#include "tandem/nn/sequential.h"

using namespace tandem;

namespace {
std::vector<Tensor> parameters() {
  std::vector<Tensor> out{zeros({2}, requires_grad()), zeros({1, 1}, requires_grad()), zeros({3}, requires_grad())};
  out[0].mutable_grad() = tensor({3., 0.}).to(kFloat);
  out[1].mutable_grad() = full({1, 1}, -4.0);
  return out;
}
}  // namespace

TEST_CASE("clip_grad_norm_") {
  auto p = parameters();
  CHECK(nn::utils::clip_grad_norm_(p, 10) == doctest::Approx(5));
  CHECK(p[0].grad().data_ptr<float>()[0] == 3);
  CHECK(nn::utils::clip_grad_norm_(p, 1) == doctest::Approx(5));
  CHECK(p[0].grad().data_ptr<float>()[0] == doctest::Approx(0.6));
  CHECK(p[1].grad().item<float>() == doctest::Approx(-0.8));
  CHECK(nn::utils::clip_grad_norm_(parameters(), 1, std::numeric_limits<double>::infinity()) == 4);
  CHECK(nn::utils::clip_grad_norm_(parameters(), 1, 1) == doctest::Approx(7));
  CHECK(nn::utils::clip_grad_norm_(parameters(), 1, 0) == 2);
  auto inverse = parameters();
  inverse[0].mutable_grad() = tensor({3., 6.}).to(kFloat);
  CHECK(nn::utils::clip_grad_norm_(inverse, 10, -1) == doctest::Approx(1 / (1 / 3. + 1 / 6. + 1 / 4.)));
  CHECK_THROWS_WITH_AS(nn::utils::clip_grad_norm_(p, 1, std::nan("")), doctest::Contains("norm_type"), Error);
  p[0].mutable_grad().fill_(std::nan(""));
  CHECK_THROWS_WITH_AS(nn::utils::clip_grad_norm_(p, 1, 2, true), doctest::Contains("not finite"), Error);
}

TEST_CASE("clip_grad_value_") {
  auto p = parameters();
  nn::utils::clip_grad_value_(p, 3.5);
  CHECK(p[0].grad().data_ptr<float>()[0] == 3);
  CHECK(p[1].grad().item<float>() == -3.5f);
}

TEST_CASE("parameters_to_vector and back") {
  const auto p = parameters();
  const Tensor v = nn::utils::parameters_to_vector(p);
  CHECK(v.sizes() == IntArrayRef{6});
  nn::utils::vector_to_parameters(arange(6, kFloat), p);
  CHECK(p[2].data_ptr<float>()[2] == 5);
  CHECK(p[2].requires_grad());
  CHECK_THROWS_AS(nn::utils::vector_to_parameters(arange(5, kFloat), p), Error);
}

TEST_CASE("the decay of an ExponentialMovingAverage rises with the updates") {
  nn::Linear layer(1, 1);
  nn::ExponentialMovingAverage average(layer, 0.25, nn::EmaWarmup::kYes);
  NoGradGuard no_grad;
  double expected = 0;
  for (int n = 0; n < 6; ++n) {
    const double decay = std::min(0.25, (1.0 + n) / (10.0 + n));
    CHECK(average.decay() == decay);
    layer->weight.fill_(n + 1);
    average.update();
    expected = n == 0 ? 1 : decay * expected + (1 - decay) * (n + 1);
    CHECK(average.state_dict()["weight"].item<double>() == doctest::Approx(expected));
  }
  CHECK(nn::ExponentialMovingAverage(layer, 0.25).decay() == 0.25);
}

TEST_CASE("ExponentialMovingAverage averages parameters and statistics") {
  nn::Sequential net;
  net->push_back(nn::Linear(2, 2));
  net->push_back(nn::BatchNorm1d(2));
  nn::ExponentialMovingAverage average(net, 0.75);
  const auto values = net->state_dict();
  const Tensor &weight = values["0.weight"], &mean = values["1.running_mean"], &count = values["1.num_batches_tracked"];
  double expected = 0;
  NoGradGuard no_grad;
  for (int step = 1; step <= 4; ++step) {
    weight.fill_(step);
    mean.fill_(10 * step);
    count.fill_(step);
    average.update();
    expected = step == 1 ? 1 : 0.75 * expected + 0.25 * step;
  }
  const auto averages = average.state_dict();
  CHECK(averages["0.weight"].allclose(full({2, 2}, expected)));
  CHECK(averages["1.running_mean"].allclose(full({2}, 10 * expected)));
  CHECK(averages["1.num_batches_tracked"].item<int64_t>() == 4);

  weight[0][1].fill_(0.1);
  const Tensor before = weight.clone();
  {
    const auto averaged = average.use();
    CHECK(net[0]->as<nn::Linear>()->weight.equal(averages["0.weight"]));
    CHECK_THROWS_WITH_AS(average.update(), doctest::Contains("has the averages"), Error);
    CHECK_THROWS_WITH_AS(auto again = average.use(), doctest::Contains("already"), Error);
  }
  CHECK(weight.equal(before));

  serialize::OutputArchive saved;
  average.save(saved);
  nn::ExponentialMovingAverage other(net, 0.75);
  serialize::InputArchive archive(saved.tensors(), saved.metadata());
  other.load(archive);
  average.update();
  other.update();
  CHECK(other.updates() == 5);
  for (const auto& item : average.state_dict()) CHECK(item.value().equal(other.state_dict()[item.key()]));
  nn::Sequential small(nn::Linear(2, 1), nn::BatchNorm1d(1));
  CHECK_THROWS_WITH_AS(nn::ExponentialMovingAverage(small, 0.5).load(archive), doctest::Contains("0.weight differs"),
                       Error);
  CHECK_THROWS_WITH_AS(nn::ExponentialMovingAverage(net, 1), doctest::Contains("decay 1"), Error);
}
