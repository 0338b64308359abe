// Loss scaling, and optimizers of parameters in half types.
#include "tandem/nn/optim/grad_scaler.h"

#include <doctest/doctest.h>

#include <limits>

#include "tandem/autograd/autocast.h"
#include "tandem/autograd/ops.h"
#include "tandem/nn/nn.h"
#include "tandem/nn/optim/optim.h"

using namespace tandem;

namespace {

Tensor parameter() { return ones({3}).requires_grad_(); }
// w loses 0.5 in each step that is taken.
void step(amp::GradScaler& scaler, optim::Optimizer& optimizer, const Tensor& w, double factor = 1) {
  optimizer.zero_grad();
  scaler.scale((w * 0.5 * factor).sum()).backward();
  scaler.step(optimizer);
  scaler.update();
}

}  // namespace

TEST_CASE("GradScaler skips steps whose gradients are not finite, and adapts the scale") {
  const Tensor w = parameter();
  optim::SGD sgd(std::vector<Tensor>{w}, optim::SGDOptions(1));
  amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = 1024, .growth_interval = 2});
  step(scaler, sgd, w);
  CHECK(w[0].item<double>() == 0.5);
  CHECK(w.grad()[0].item<double>() == 0.5);
  CHECK(scaler.get_scale() == 1024);
  step(scaler, sgd, w, std::numeric_limits<double>::infinity());
  CHECK(w[0].item<double>() == 0.5);
  CHECK(scaler.get_scale() == 512);
  CHECK(scaler.state_dict().growth_tracker == 0);
  step(scaler, sgd, w, std::numeric_limits<double>::quiet_NaN());
  CHECK(w[0].item<double>() == 0.5);
  CHECK(scaler.get_scale() == 256);
  step(scaler, sgd, w);
  CHECK(scaler.get_scale() == 256);
  step(scaler, sgd, w);
  CHECK(w[0].item<double>() == -0.5);
  CHECK(scaler.get_scale() == 512);

  amp::GradScaler other;
  other.load_state_dict(scaler.state_dict());
  CHECK(other.get_scale() == 512);
  CHECK(other.get_growth_interval() == 2);
  scaler.update(8);
  CHECK(scaler.get_scale() == 8);
}

TEST_CASE("GradScaler: the parts of a captured step do what the whole does, also with the scale on a device") {
  for (const bool enabled : {true, false}) {
    const Tensor whole = parameter(), parts = parameter();
    optim::SGD one(std::vector<Tensor>{whole}, optim::SGDOptions(1)),
        two(std::vector<Tensor>{parts}, optim::SGDOptions(1));
    amp::GradScaler plain(amp::GradScalerOptions{.init_scale = 1024, .growth_interval = 2, .enabled = enabled});
    amp::GradScaler kept(amp::GradScalerOptions{.growth_interval = 2, .enabled = enabled});
    kept.keep_on(kCPU);
    kept.load_state_dict(plain.state_dict());
    for (const double factor : {1.0, 1e39, 1.0, 1.0, 3.0, 1.0}) {
      if (!enabled && factor > 1e6) continue;
      step(plain, one, whole, factor);
      two.zero_grad();
      kept.scale((parts * 0.5 * factor).sum()).backward();
      CHECK(kept.step(two, kept.divide_gradients(two)) == (factor < 1e6));
      kept.update();
      CHECK(kept.get_scale() == plain.get_scale());
      CHECK(parts.equal(whole));
      CHECK(parts.grad().isfinite().equal(whole.grad().isfinite()));
    }
    CHECK(plain.get_scale() == (enabled ? 2048 : 1));
  }
}

TEST_CASE("GradScaler: a scale on a device multiplies every dtype as a number does") {
  const amp::GradScaler plain;
  amp::GradScaler kept;
  kept.keep_on(kCPU);
  for (const ScalarType type : {kHalf, kBFloat16, kFloat, kDouble})
    for (const Tensor& t : {full({3}, 1e-4, TensorOptions(type)), full({}, 1e-4, TensorOptions(type))}) {
      INFO(type, ' ', t.dim());
      CHECK(kept.scale(t).dtype() == plain.scale(t).dtype());
      CHECK(kept.scale(t).equal(plain.scale(t)));
    }
}

TEST_CASE("GradScaler: parameters can be changed, but not to values that make no sense") {
  amp::GradScaler scaler(amp::GradScalerOptions{.growth_interval = 5});
  amp::GradScalerState state = scaler.state_dict();
  state.growth_tracker = 4;
  scaler.load_state_dict(state);
  scaler.set_growth_factor(3);
  scaler.set_backoff_factor(0.25);
  scaler.set_growth_interval(3);
  CHECK(scaler.state_dict().growth_factor == 3);
  CHECK(scaler.state_dict().backoff_factor == 0.25);
  CHECK(scaler.state_dict().growth_interval == 3);
  CHECK(scaler.state_dict().growth_tracker == 2);  // not past the new interval
  scaler.set_growth_interval(1);
  CHECK(scaler.state_dict().growth_tracker == 0);
  CHECK_THROWS_AS(scaler.set_growth_factor(1), Error);
  CHECK_THROWS_AS(scaler.set_backoff_factor(1), Error);
  CHECK_THROWS_AS(scaler.set_backoff_factor(0), Error);
  CHECK_THROWS_WITH_AS(scaler.set_growth_interval(0), doctest::Contains("growth_interval must be positive"), Error);
  CHECK(scaler.state_dict().growth_interval == 1);
  for (const double scale : {0.0, -1.0, std::numeric_limits<double>::infinity()}) {
    state = scaler.state_dict();
    state.scale = scale;
    CHECK_THROWS_AS(scaler.load_state_dict(state), Error);
  }
  state = scaler.state_dict();
  state.growth_tracker = -1;
  CHECK_THROWS_AS(scaler.load_state_dict(state), Error);
}

TEST_CASE("GradScaler: the scale never becomes 0, and a failed step may be repeated") {
  const Tensor w = parameter();
  optim::SGD sgd(std::vector<Tensor>{w}, optim::SGDOptions(1));
  amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = 1e-37});
  for (int i = 0; i < 40; ++i) step(scaler, sgd, w, std::numeric_limits<double>::infinity());
  CHECK(scaler.get_scale() == 0x1p-126);
  amp::GradScalerState state = scaler.state_dict();
  state.growth_tracker = state.growth_interval;
  CHECK_THROWS_WITH_AS(scaler.load_state_dict(state), doctest::Contains("growth_tracker"), Error);
  scaler.update(1);
  w.mutable_grad() = ones_like(w);
  CHECK_THROWS_AS(scaler.step(sgd, [] { fail("the disk is full"); }), Error);
  CHECK(scaler.step(sgd));
}

TEST_CASE("GradScaler unscales once, and leaves float16 gradients alone") {
  const Tensor w = parameter();
  optim::SGD sgd(std::vector<Tensor>{w}, optim::SGDOptions(1));
  amp::GradScaler scaler;
  CHECK_THROWS_WITH_AS(scaler.update(), doctest::Contains("no gradients were looked at"), Error);
  CHECK_THROWS_WITH_AS(scaler.unscale_(sgd), doctest::Contains("have no gradients"), Error);
  scaler.scale((w * 2).sum()).backward();
  CHECK(w.grad()[0].item<double>() == 2 * 65536);
  scaler.unscale_(sgd);
  CHECK(w.grad()[0].item<double>() == 2);
  CHECK_THROWS_WITH_AS(scaler.unscale_(sgd), doctest::Contains("second time"), Error);
  CHECK(scaler.step(sgd));
  CHECK(w[0].item<double>() == -1);
  CHECK_THROWS_WITH_AS(scaler.step(sgd), doctest::Contains("second time"), Error);
  scaler.update();

  const Tensor h = ones({2}, kHalf).requires_grad_();
  optim::SGD of_half(std::vector<Tensor>{h}, optim::SGDOptions(1));
  h.sum().backward();
  CHECK_THROWS_WITH_AS(scaler.unscale_(of_half), doctest::Contains("float16"), Error);
  CHECK_THROWS_AS(amp::GradScaler(amp::GradScalerOptions{.growth_factor = 1}), Error);
  CHECK_THROWS_AS(scaler.set_backoff_factor(1), Error);

  amp::GradScaler off(amp::GradScalerOptions{.enabled = false});
  const Tensor loss = (w * 2).sum();
  CHECK(off.scale(loss).is_same(loss));
  CHECK(off.get_scale() == 1);
  CHECK_NOTHROW(off.unscale_(of_half));
  int taken = 0;
  CHECK(off.step(sgd, [&] { ++taken; }));
  CHECK(taken == 1);
  CHECK_NOTHROW(off.update());
}

TEST_CASE("GradScaler scales losses in float32, and other tensors in their dtype") {
  const amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = 8});
  const std::vector<Tensor> scaled = scaler.scale(
      {full({}, 0.5, kHalf), full({}, 0.5, kBFloat16), full({2}, 0.5, kHalf), full({}, 0.5, kDouble), ones({2})});
  const ScalarType types[] = {kFloat, kFloat, kHalf, kDouble, kFloat};
  REQUIRE(scaled.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CAPTURE(i);
    CHECK((scaled[i].dtype() == types[i]));
    CHECK((scaled[i] == (i == 4 ? 8 : 4)).all().item<bool>());
  }
}

TEST_CASE("GradScaler grows while float32 can hold the scale, and shrinks if one of several optimizers has no step") {
  const Tensor w = parameter(), v = parameter();
  optim::SGD first(std::vector<Tensor>{w}, optim::SGDOptions(0)), second(std::vector<Tensor>{v}, optim::SGDOptions(0));
  const auto scale_after = [&](double before, int steps, int64_t interval) {
    amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = before, .growth_interval = interval});
    for (int i = 0; i < steps; ++i) step(scaler, first, w, 1e-30);
    return scaler.get_scale();
  };
  CHECK(scale_after(0x1.fffffep126, 1, 1) == 0x1.fffffep127);
  CHECK(scale_after(0x1.fffffep126, 2, 1) == 0x1.fffffep127);
  CHECK(scale_after(1, 3, 2) == 2);
  CHECK(scale_after(1, 4, 2) == 4);
  for (const bool bad : {false, true}) {
    amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = 4});
    w.mutable_grad() = full({3}, bad ? std::numeric_limits<double>::infinity() : 1);
    v.mutable_grad() = full({3}, bad ? 1 : std::numeric_limits<double>::infinity());
    CHECK(scaler.step(first) != bad);
    CHECK(scaler.step(second) == bad);
    scaler.update();
    CHECK(scaler.get_scale() == 2);
  }
}

TEST_CASE("autocast in float16 with a scaled loss trains small gradients") {
  manual_seed(1);
  nn::Linear layer(8, 1);
  const Tensor x = randn({16, 8}), y = x.sum(1, true) * 1e-6;  // unscaled, the gradients are below float16's range
  const auto gradient = [&](double scale) {
    amp::GradScaler scaler(amp::GradScalerOptions{.init_scale = scale});
    optim::SGD sgd(layer->parameters(), optim::SGDOptions(0));
    sgd.zero_grad();
    Tensor loss;
    {
      const autocast::AutocastGuard mixed(kCPU, kHalf);
      loss = (layer->forward(x) * y).sum() * 1e-4;
    }
    scaler.scale(loss).backward();
    scaler.unscale_(sgd);
    return layer->weight.grad().clone();
  };
  const Tensor exact = (x * y).sum(0, true) * 1e-4;
  CHECK(((gradient(0x1p20) - exact).norm() / exact.norm()).item<double>() < 0.01);
  CHECK(((gradient(1) - exact).norm() / exact.norm()).item<double>() > 0.5);
}

TEST_CASE("optimizers step parameters in half types as float32 ones, rounded") {
  const auto compare = [](const char* what,
                          const std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>& make) {
    CAPTURE(what);
    for (const ScalarType type : {kBFloat16, kHalf}) {
      manual_seed(2);
      const Tensor start = randn({50}).to(type), g = randn({50}).to(type);
      const Tensor half = start.clone().requires_grad_(), wide = start.to(kFloat).requires_grad_();
      auto of_half = make({half}), of_wide = make({wide});
      for (int i = 0; i < 3; ++i) {
        Tensor(half).mutable_grad() = g.clone();
        Tensor(wide).mutable_grad() = g.to(kFloat);
        of_half->step();
        of_wide->step();
        CHECK((half.dtype() == type));
        if (i == 0) CHECK((half.detach() == wide.detach().to(type)).all().item<bool>());
      }
      const double unit = type == kHalf ? 0x1p-10 : 0x1p-7;
      CHECK(((half.detach().to(kFloat) - wide.detach()).abs().max().item<double>() < 16 * unit));
      CHECK(((half.detach() - start).abs().max().item<double>() > 0.01));
    }
  };
  compare("SGD", [](std::vector<Tensor> p) {
    return std::make_unique<optim::SGD>(p, optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.01));
  });
  compare("AdamW", [](std::vector<Tensor> p) { return std::make_unique<optim::AdamW>(p, optim::AdamWOptions(0.05)); });
  compare("RMSprop",
          [](std::vector<Tensor> p) { return std::make_unique<optim::RMSprop>(p, optim::RMSpropOptions(0.05)); });
  compare("Adagrad",
          [](std::vector<Tensor> p) { return std::make_unique<optim::Adagrad>(p, optim::AdagradOptions(0.05)); });
}
