// Gradient clipping; parameters as a vector; moving averages.
#include "tandem/nn/utils.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
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

TEST_CASE("clip_grad_norm_ of gradients that are missing, empty, infinite or no numbers") {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto norm = [](const std::vector<double>& values, double type) {
    std::vector<Tensor> p;
    for (const double value : values) {
      p.push_back(zeros({1}, requires_grad()));
      p.back().mutable_grad() = full({1}, value);
    }
    p.push_back(zeros({2}, requires_grad()));  // without a gradient
    p.push_back(zeros({0}, requires_grad()));
    p.back().mutable_grad() = zeros({0});
    return nn::utils::clip_grad_norm_(p, 100, type);
  };
  for (const double type : {1.0, 2.0, inf}) {
    CHECK(norm({}, type) == 0);
    CHECK(norm({-3}, type) == doctest::Approx(3));
    CHECK(std::isnan(norm({nan, 1}, type)));
    CHECK(std::isnan(norm({1, nan}, type)));
    CHECK(norm({1, -inf}, type) == inf);
  }
  CHECK(norm({-3, 2, 1}, inf) == 3);
  CHECK(norm({1, 2, -3}, inf) == 3);
  CHECK(norm({1, 2}, 0) == 3);  // counts gradients, the empty one, too
  CHECK(norm({3, -4}, 2) == doctest::Approx(5));
  CHECK(norm({3, -4}, 3) == doctest::Approx(std::cbrt(91)));
  // The bound divided by the norm + 1e-6: a norm at the bound is scaled, too, and NaN spreads.
  auto p = parameters();
  nn::utils::clip_grad_norm_(p, 5);
  CHECK(p[0].grad().data_ptr<float>()[0] < 3);
  CHECK(p[0].grad().data_ptr<float>()[0] > 2.999f);
  p = parameters();
  nn::utils::clip_grad_norm_(p, 5.00001);
  CHECK(p[0].grad().data_ptr<float>()[0] == 3);
  p[1].mutable_grad().fill_(nan);
  nn::utils::clip_grad_norm_(p, 5);
  CHECK(std::isnan(p[0].grad().data_ptr<float>()[0]));
  for (const double type : {nan, -inf})
    CHECK_THROWS_WITH_AS(nn::utils::clip_grad_norm_(p, 1, type),
                         doctest::Contains("clip_grad_norm_: norm_type must be a number or infinity, got"), Error);
  CHECK_THROWS_WITH_AS(
      nn::utils::clip_grad_norm_(p, 1, 3, true),
      doctest::Contains("clip_grad_norm_: the norm of order 3 of the gradients is not finite, so it cannot be clipped"),
      Error);
  // One tensor.
  p = parameters();
  CHECK(nn::utils::clip_grad_norm_(p[0], 1) == doctest::Approx(3));
  CHECK(p[0].grad().data_ptr<float>()[0] == doctest::Approx(1));
  CHECK(p[1].grad().item<float>() == -4);
  nn::utils::clip_grad_value_(p[1], 0.5);
  CHECK(p[1].grad().item<float>() == -0.5f);
  CHECK(p[0].grad().data_ptr<float>()[0] == doctest::Approx(1));
  CHECK_FALSE(p[2].grad().defined());
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
  CHECK(nn::utils::parameters_to_vector(p).equal(arange(6, kFloat)));
  for (const Tensor& wrong : {zeros({5}), zeros({7}), zeros({6, 1}), zeros({})})
    CHECK_THROWS_WITH_AS(nn::utils::vector_to_parameters(wrong, p),
                         doctest::Contains("vector_to_parameters: expected a vector of 6 elements, got"), Error);
  CHECK(nn::utils::parameters_to_vector(p).equal(arange(6, kFloat)));
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
  for (const double decay : {-0.01, 1.0, 2.0, std::nan("")})
    CHECK_THROWS_WITH_AS(nn::ExponentialMovingAverage(net, decay),
                         doctest::Contains("expected a number from 0 to below"), Error);
  CHECK(nn::ExponentialMovingAverage(net, 0).decay() == 0);
  CHECK_THROWS_WITH_AS(nn::ExponentialMovingAverage(std::shared_ptr<nn::Module>(), 0.5),
                       doctest::Contains("no module given"), Error);
}

TEST_CASE("an ExponentialMovingAverage loads all or nothing, and gives back what the module had") {
  nn::Sequential net(nn::Linear(2, 2), nn::BatchNorm1d(2));
  nn::ExponentialMovingAverage average(net, 0.5);
  average.update();
  serialize::OutputArchive saved;
  average.save(saved);
  const auto refused = [&](const std::function<void(OrderedDict<std::string, Tensor>&)>& change, int64_t updates) {
    OrderedDict<std::string, Tensor> tensors;
    for (const auto& item : saved.tensors()) tensors.insert(item.key(), item.value().clone().fill_(9));
    change(tensors);
    serialize::OutputArchive out;
    for (const auto& item : tensors) out.write(item.key(), item.value());
    out.write("updates", updates);
    nn::ExponentialMovingAverage other(net, 0.5);
    serialize::InputArchive in(out.tensors(), out.metadata());
    std::string text;
    try {
      other.load(in);
    } catch (const Error& error) {
      text = error.what();
    }
    CHECK(other.updates() == (text.empty() ? updates : 0));
    for (const auto& item : other.state_dict()) CHECK(item.value().eq(9).all().item<bool>() == text.empty());
    return text;
  };
  const auto nothing = [](OrderedDict<std::string, Tensor>&) {};
  {
    const NoGradGuard no_grad;
    for (const auto& item : net->state_dict()) Tensor(item.value()).fill_(3);
  }
  CHECK(refused(nothing, 0) == "");
  CHECK(refused(nothing, 7) == "");
  CHECK(refused(nothing, -1).find("ExponentialMovingAverage.load: -1 updates") == 0);
  CHECK(refused([](auto& t) { t.erase("1.bias"); }, 1)
            .find("ExponentialMovingAverage.load: 6 tensors were saved, but the module has 7") == 0);
  CHECK(refused([](auto& t) { t.insert("more", ones({1})); }, 1)
            .find("ExponentialMovingAverage.load: 8 tensors were saved, but the module has 7") == 0);
  CHECK(refused([](auto& t) { t.erase("1.bias"), t.insert("1.bios", ones({2})); }, 1) ==
        "ExponentialMovingAverage.load: 1.bias is missing");
  CHECK(refused([](auto& t) { t["1.num_batches_tracked"] = zeros({1}, TensorOptions(kLong)); }, 1)
            .find("ExponentialMovingAverage.load: 1.num_batches_tracked differs") == 0);
  CHECK(refused([](auto& t) { t["1.bias"] = zeros({2}, kDouble); }, 1).find("1.bias differs") != std::string::npos);
  // Inside, the module has the averages, buffers too; outside, its own values.
  {
    const NoGradGuard no_grad;
    for (const auto& item : net->state_dict()) Tensor(item.value()).fill_(3);
    average.update();
    for (const auto& item : net->state_dict()) Tensor(item.value()).fill_(8);
  }
  {
    const auto use = average.use();
    for (const auto& item : net->state_dict()) CHECK(item.value().equal(average.state_dict()[item.key()]));
    CHECK(net->state_dict()["1.num_batches_tracked"].item<int64_t>() == 3);
  }
  for (const auto& item : net->state_dict()) CHECK(item.value().eq(8).all().item<bool>());
  average.update();
  CHECK(average.updates() == 3);
}
