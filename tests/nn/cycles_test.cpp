// Ramps, cycles and sequences of learning rates, and ReduceLROnPlateauScheduler: values from PyTorch.
#include "tandem/nn/optim/cycles.h"

#include <doctest/doctest.h>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/adagrad.h"
#include "tandem/nn/optim/adam.h"
#include "tandem/nn/optim/plateau.h"
#include "tandem/nn/optim/sgd.h"

using namespace tandem;

namespace {
struct Fixture {
  optim::SGD optimizer{std::vector<Tensor>{ones({1}, requires_grad())}, optim::SGDOptions(0.8).momentum(0.9)};
  const optim::SGDOptions& options() {
    return static_cast<const optim::SGDOptions&>(optimizer.param_groups()[0].options());
  }
  // The rates, and the momenta if given, from step 0 on.
  void expect(optim::LRScheduler& schedule, std::vector<double> rates, std::vector<double> momenta = {}) {
    for (std::size_t i = 0; i < rates.size(); ++i) {
      if (i > 0) schedule.step();
      CHECK(options().lr() == doctest::Approx(rates[i]).epsilon(1e-10));
      if (!momenta.empty()) CHECK(options().momentum() == doctest::Approx(momenta[i]).epsilon(1e-10));
    }
  }
};
}  // namespace

TEST_CASE_FIXTURE(Fixture, "ConstantLR, LinearLR and PolynomialLR") {
  optim::ConstantLR constant(optimizer, 0.25, 3);
  expect(constant, {0.2, 0.2, 0.2, 0.8, 0.8, 0.8});
  optim::LinearLR linear(optimizer, 0.25, 0.75, 4);
  expect(linear, {0.2, 0.3, 0.4, 0.5, 0.6, 0.6, 0.6});
  optim::PolynomialLR polynomial(optimizer, 4, 2);
  polynomial.restart();
  expect(polynomial, {0.8, 0.45, 0.2, 0.05, 0, 0, 0});
  CHECK_THROWS_AS(optim::LinearLR(optimizer, 0), Error);
  CHECK_THROWS_AS(optim::LinearLR(optimizer, 1.5), Error);
  CHECK_THROWS_AS(optim::LinearLR(optimizer, 1, -0.5), Error);
  CHECK_THROWS_AS(optim::LinearLR(optimizer, 1, 1.5), Error);
  CHECK_THROWS_AS(optim::LinearLR(optimizer, 1, 1, 0), Error);
  CHECK_NOTHROW(optim::LinearLR(optimizer, 1, 0, 1));
  CHECK_THROWS_AS(optim::ConstantLR(optimizer, 1.5), Error);
  CHECK_THROWS_AS(optim::ConstantLR(optimizer, -0.5), Error);
  CHECK_NOTHROW(optim::ConstantLR(optimizer, 0));
  CHECK_NOTHROW(optim::ConstantLR(optimizer, 1));
  CHECK_THROWS_AS(optim::PolynomialLR(optimizer, 0), Error);
  CHECK_NOTHROW(optim::PolynomialLR(optimizer, 1));
  optimizer.param_groups()[0].options().set_lr(0.8);
  optim::ConstantLR from_nothing(optimizer, 0, 2);
  expect(from_nothing, {0, 0, 0.8, 0.8});
  optimizer.param_groups()[0].options().set_lr(0.4);  // as by another scheduler, whose part stays
  optim::ConstantLR after_another(optimizer, 0.25, 2);
  expect(after_another, {0.1, 0.1, 0.4});
}

TEST_CASE_FIXTURE(Fixture, "CosineAnnealingWarmRestarts") {
  optim::CosineAnnealingWarmRestarts schedule(optimizer, 2, 2, 0.1);
  expect(schedule, {0.8, 0.45, 0.8, 0.697487373415, 0.45, 0.202512626585, 0.8, 0.773357836379});
  optim::CosineAnnealingWarmRestarts equal(optimizer, 3);
  equal.restart();
  expect(equal, {0.8, 0.6, 0.2, 0.8, 0.6});
  const optim::CosineAnnealingWarmRestarts shortest(optimizer, 1);
  CHECK(options().lr() == 0.8);
  CHECK_THROWS_AS(optim::CosineAnnealingWarmRestarts(optimizer, 0), Error);
  CHECK_THROWS_AS(optim::CosineAnnealingWarmRestarts(optimizer, 1, 0), Error);
}

TEST_CASE_FIXTURE(Fixture, "OneCycleLR moves rate and momentum, and ends after total_steps") {
  optim::OneCycleLR schedule(optimizer, 1, 8);
  expect(schedule,
         {0.04, 0.819275104892, 0.971941777388, 0.81174565395, 0.555984014123, 0.283060998209, 0.0766415938343, 4e-06},
         {0.95, 0.868825509907, 0.852805833485, 0.868825509907, 0.894401776195, 0.921694186956, 0.942336209961, 0.95});
  schedule.step();
  CHECK_THROWS_WITH_AS(schedule.step(), doctest::Contains("total steps"), Error);
  optim::OneCycleLR phases(optimizer, optim::OneCycleLROptions{.max_lr = 1,
                                                               .total_steps = 10,
                                                               .pct_start = 0.4,
                                                               .anneal_strategy = "linear",
                                                               .div_factor = 10,
                                                               .final_div_factor = 100,
                                                               .three_phase = true});
  expect(phases, {0.1, 0.4, 0.7, 1, 0.7, 0.4, 0.1, 0.067, 0.034, 0.001, -0.032},
         {0.95, 0.916666666667, 0.883333333333, 0.85, 0.883333333333, 0.916666666667, 0.95, 0.95, 0.95, 0.95, 0.95});
  optim::OneCycleLR steep(optimizer, optim::OneCycleLROptions{
                                         .max_lr = 1, .total_steps = 8, .pct_start = 0.125});  // its rise takes no step
  expect(steep, {1}, {0.85});
  CHECK_NOTHROW(optim::OneCycleLR(optimizer, 1, 1));
}

TEST_CASE_FIXTURE(Fixture, "OneCycleLR and CyclicLR refuse what they cannot follow") {
  CHECK_THROWS_AS(optim::OneCycleLR(optimizer, 1, 0), Error);
  CHECK_THROWS_AS(optim::OneCycleLR(optimizer, optim::OneCycleLROptions{.total_steps = 8}), Error);
  CHECK_THROWS_AS(optim::CyclicLR(optimizer, optim::CyclicLROptions{.base_lr = 0.1}), Error);
  for (const double part : {-0.1, 1.1})
    CHECK_THROWS_AS(
        optim::OneCycleLR(optimizer, optim::OneCycleLROptions{.max_lr = 1, .total_steps = 8, .pct_start = part}),
        Error);
  for (const double part : {0.0, 1.0})
    CHECK_NOTHROW(
        optim::OneCycleLR(optimizer, optim::OneCycleLROptions{.max_lr = 1, .total_steps = 8, .pct_start = part}));
  CHECK_THROWS_AS(optim::OneCycleLR(
                      optimizer, optim::OneCycleLROptions{.max_lr = 1, .total_steps = 8, .anneal_strategy = "square"}),
                  Error);
  CHECK_THROWS_AS(optim::CyclicLR(optimizer, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5, .step_size_up = 0}),
                  Error);
  CHECK_THROWS_AS(
      optim::CyclicLR(optimizer, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5, .step_size_down = 0}), Error);
  CHECK_NOTHROW(optim::CyclicLR(
      optimizer, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5, .step_size_up = 1, .step_size_down = 1}));
  CHECK_THROWS_AS(optim::CyclicLR(optimizer, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5, .mode = "square"}),
                  Error);
}

TEST_CASE("cycles of momentum move the first beta, and need one or a momentum") {
  const std::vector<Tensor> p{ones({1}, requires_grad())};
  optim::Adam adam(p, optim::AdamOptions(0.1).betas({0.7, 0.8}));
  const optim::CyclicLR schedule(adam, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5});
  const auto& options = static_cast<const optim::AdamOptions&>(adam.param_groups()[0].options());
  CHECK(options.betas() == std::make_tuple(0.9, 0.8));
  CHECK(options.lr() == doctest::Approx(0.1));
  CHECK(options.eps() == 1e-8);
  optim::Adagrad adagrad(p);
  CHECK_THROWS_WITH_AS(optim::CyclicLR(adagrad, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5}),
                       doctest::Contains("must have momentum or beta1"), Error);
  CHECK_NOTHROW(
      optim::CyclicLR(adagrad, optim::CyclicLROptions{.base_lr = 0.1, .max_lr = 0.5, .cycle_momentum = false}));
}

TEST_CASE_FIXTURE(Fixture, "SequentialLR refuses what it cannot follow, and begins with the first") {
  using Parts = std::vector<std::shared_ptr<optim::LRScheduler>>;
  const auto part = [&](double factor) { return std::make_shared<optim::ConstantLR>(optimizer, factor, 9); };
  CHECK_THROWS_WITH_AS(optim::SequentialLR(optimizer, Parts{}, {}), doctest::Contains("at least one"), Error);
  CHECK_THROWS_WITH_AS(optim::SequentialLR(optimizer, Parts{part(1), nullptr}, {2}), doctest::Contains("null"), Error);
  CHECK_THROWS_WITH_AS(optim::SequentialLR(optimizer, Parts{part(1), part(1)}, {2, 3}),
                       doctest::Contains("expected 1 milestones for 2 schedulers, got 2"), Error);
  CHECK_THROWS_WITH_AS(optim::SequentialLR(optimizer, Parts{part(1), part(1), part(1)}, {3, 2}),
                       doctest::Contains("must ascend"), Error);
  optim::SequentialLR schedule(optimizer, Parts{part(0.5), part(0.25)}, {2});
  expect(schedule, {0.4, 0.4, 0.2, 0.2});
  optim::SequentialLR alone(optimizer, Parts{part(0.5)}, {});
  expect(alone, {0.4, 0.4});
}

TEST_CASE_FIXTURE(Fixture, "CyclicLR") {
  optim::CyclicLR schedule(
      optimizer, optim::CyclicLROptions{
                     .base_lr = 0.1, .max_lr = 0.5, .step_size_up = 3, .step_size_down = 2, .mode = "triangular2"});
  expect(schedule, {0.1, 0.233333333333, 0.366666666667, 0.5, 0.3, 0.1, 0.166666666667, 0.233333333333, 0.3},
         {0.9, 0.866666666667, 0.833333333333, 0.8, 0.85, 0.9, 0.883333333333, 0.866666666667, 0.85});
  optim::CyclicLR decaying(optimizer, optim::CyclicLROptions{.base_lr = 0.1,
                                                             .max_lr = 0.5,
                                                             .step_size_up = 2,
                                                             .mode = "exp_range",
                                                             .gamma = 0.9,
                                                             .cycle_momentum = false});
  expect(decaying, {0.1, 0.28, 0.424, 0.2458, 0.1, 0.218098, 0.3125764});
  CHECK_THROWS_AS(optim::CyclicLR(optimizer, optim::CyclicLROptions{.base_lr = 0, .max_lr = 1, .mode = "square"}),
                  Error);
}

TEST_CASE("schedulers of one optimizer that are stepped together") {
  // The rates after every fifth of 50 steps.
  const auto compare = [](auto make, const std::vector<double>& rates) {
    Fixture fixture;
    const std::vector<std::shared_ptr<optim::LRScheduler>> schedules = make(fixture.optimizer);
    for (std::size_t step = 0; step <= 50; ++step) {
      for (const auto& schedule : schedules)
        if (step > 0) schedule->step();
      CAPTURE(step);
      if (step % 5 == 0) CHECK(fixture.options().lr() == doctest::Approx(rates[step / 5]).epsilon(1e-9));
    }
  };
  using List = std::vector<std::shared_ptr<optim::LRScheduler>>;
  compare(
      [](auto& optimizer) {
        return List{std::make_shared<optim::ConstantLR>(optimizer, 0.25, 7),
                    std::make_shared<optim::ExponentialLR>(optimizer, 0.95)};
      },
      {0.2, 0.1547561875, 0.478989551391, 0.370632984128, 0.286788737927, 0.221911658497, 0.171711011154, 0.13286670719,
       0.102809725252, 0.0795522055897, 0.0615559802214});
  compare(
      [](auto& optimizer) {
        return List{std::make_shared<optim::LinearLR>(optimizer, 0.1, 1, 8),
                    std::make_shared<optim::CosineAnnealingLR>(optimizer, 22, 0.01)};
      },
      {0.08, 0.466921966878, 0.462218580397, 0.191850703906, 0.0260358855146, 0.045695361835, 0.240911069864,
       0.516284359952, 0.737295145468, 0.795979469543, 0.663669989908});
  compare(
      [](auto& optimizer) {
        return List{std::make_shared<optim::CosineAnnealingLR>(optimizer, 12, 0.01),
                    std::make_shared<optim::LinearLR>(optimizer, 0.1, 1, 8)};
      },
      {0.08, 0.340137180209, 0.063964486302, 0.125692821431, 0.6025, 0.786540701384, 0.405, 0.0234592986158, 0.2075,
       0.684307178569, 0.747080034495});
  compare(
      [](auto& optimizer) {
        return List{std::make_shared<optim::StepLR>(optimizer, 7, 0.5),
                    std::make_shared<optim::PolynomialLR>(optimizer, 48, 1.5)};
      },
      {0.8, 0.678314052415, 0.281756231651, 0.114008977168, 0.089105638513, 0.0331688105637, 0.0114819831693,
       0.00352365338451, 0.0017010345436, 0.0001953125, 0});
  compare(
      [](auto& optimizer) {
        return List{std::make_shared<optim::ExponentialLR>(optimizer, 0.95),
                    std::make_shared<optim::CosineAnnealingWarmRestarts>(optimizer, 3, 2, 0.01)};
      },
      {0.8, 0.6025, 0.786540701384, 0.405, 0.0234592986158, 0.747080034495, 0.556159955784, 0.302766477185,
       0.091625430585, 0.8, 0.779037401151});
}

TEST_CASE_FIXTURE(Fixture, "SequentialLR, also from a saved position") {
  const auto make = [&] {
    return std::make_unique<optim::SequentialLR>(
        optimizer,
        std::vector<std::shared_ptr<optim::LRScheduler>>{std::make_shared<optim::LinearLR>(optimizer, 0.1, 1.0, 3),
                                                         std::make_shared<optim::CosineAnnealingLR>(optimizer, 5),
                                                         std::make_shared<optim::ExponentialLR>(optimizer, 0.5)},
        std::vector<int64_t>{3, 6});
  };
  const double expected[] = {0.08, 0.32, 0.56, 0.8, 0.72360679775, 0.52360679775, 0.8, 0.4, 0.2, 0.1};
  auto schedule = make();
  for (std::size_t i = 0; i < 10; ++i) {
    if (i > 0) schedule->step();
    const double now = options().lr();
    CHECK(now == doctest::Approx(expected[i]).epsilon(1e-10));
    serialize::OutputArchive out;
    schedule->save(out);
    schedule = make();
    serialize::InputArchive in(out.tensors(), out.metadata());
    schedule->load(in);
    optimizer.param_groups()[0].options().set_lr(now);
  }
  CHECK_THROWS_AS(optim::SequentialLR(optimizer, {}, {}), Error);
}

TEST_CASE_FIXTURE(Fixture, "ReduceLROnPlateauScheduler") {
  using Plateau = optim::ReduceLROnPlateauScheduler;
  Plateau schedule(optimizer, Plateau::min, 0.5F, 1, 0.01, Plateau::rel, 1, {0.15F});
  const double metrics[] = {5, 4, 3.99, 3.98, 3, 3, 3, 3, 3, 3, 3, 2, 2, 2, 2, 2};
  const double rates[] = {0.8, 0.8, 0.8, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15, 0.15};
  for (std::size_t i = 0; i < 16; ++i) {
    schedule.step(static_cast<float>(metrics[i]));
    CHECK(options().lr() == doctest::Approx(rates[i]).epsilon(1e-7));
  }
  optimizer.param_groups()[0].options().set_lr(0.8);
  Plateau rising(optimizer, Plateau::SchedulerMode::max, 0.5F, 1, 0.5, Plateau::ThresholdMode::abs);
  const double expected[] = {0.8, 0.8, 0.4, 0.4, 0.4, 0.2};
  for (std::size_t i = 0; i < 6; ++i) {
    rising.step(1 + 0.25F * static_cast<float>(i));
    CHECK(options().lr() == doctest::Approx(expected[i]));
  }
  CHECK_THROWS_WITH_AS(Plateau(optimizer, Plateau::min, 1.0F), doctest::Contains("factor"), Error);
  CHECK_THROWS_AS(Plateau(optimizer, Plateau::min, 0.5F, 1, 0.1, Plateau::rel, 0, {0.1F, 0.1F}), Error);
  optimizer.param_groups()[0].options().set_lr(0.8);
  Plateau waiting(optimizer, Plateau::min, 0.5F, 0, 0.1, Plateau::rel, 2);
  for (const float metric : {4.0F, 4.0F, 4.0F}) waiting.step(metric);  // the last is the first of two that it waits
  CHECK(options().lr() == doctest::Approx(0.4));
  serialize::OutputArchive out;
  waiting.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  Plateau resumed(optimizer, Plateau::min, 0.5F, 0, 0.1, Plateau::rel, 2);
  resumed.load(in);
  const double after[] = {0.4, 0.2, 0.2, 0.2, 0.1};
  for (const double rate : after) {
    resumed.step(3.9F);  // not better by a tenth
    CHECK(options().lr() == doctest::Approx(rate));
  }
  Plateau narrow(optimizer, Plateau::min, 0.5F, 0);
  narrow.step(1);
  optimizer.add_param_group(optim::OptimizerParamGroup(std::vector<Tensor>{ones({1}, requires_grad())}));
  CHECK_THROWS_WITH_AS(narrow.step(2), doctest::Contains("has 2 parameter groups, but had 1"), Error);
}
