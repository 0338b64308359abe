// Learning rate schedulers against their formulas.
#include "tandem/nn/optim/schedulers.h"

#include <doctest/doctest.h>

#include <cmath>
#include <iostream>
#include <limits>
#include <sstream>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/plateau.h"
#include "tandem/nn/optim/sgd.h"

using namespace tandem;

namespace {
struct Fixture {
  optim::SGD optimizer{std::vector<Tensor>{ones({1}, requires_grad())}, 0.8};
  double lr() { return optimizer.param_groups()[0].options().get_lr(); }
};
}  // namespace

TEST_CASE_FIXTURE(Fixture, "StepLR") {
  optim::StepLR schedule(optimizer, 2, 0.5);
  const double expected[] = {0.8, 0.4, 0.4, 0.2, 0.2};
  for (double e : expected) {
    schedule.step();
    CHECK(lr() == doctest::Approx(e));
  }
}
TEST_CASE_FIXTURE(Fixture, "MultiStepLR and ExponentialLR") {
  optim::MultiStepLR schedule(optimizer, {1, 3}, 0.1);
  for (double e : {0.08, 0.08, 0.008}) {
    schedule.step();
    CHECK(lr() == doctest::Approx(e));
  }
  optim::ExponentialLR exponential(optimizer, 0.5);
  exponential.step();
  CHECK(lr() == doctest::Approx(0.004));
}
TEST_CASE_FIXTURE(Fixture, "CosineAnnealingLR") {
  optim::CosineAnnealingLR schedule(optimizer, 4, 0.2);
  for (int t = 1; t <= 4; ++t) {
    schedule.step();
    CHECK(lr() == doctest::Approx(0.2 + 0.3 * (1 + std::cos(3.14159265358979 * t / 4))));
  }
}
TEST_CASE_FIXTURE(Fixture, "LambdaLR warms up") {
  optim::LambdaLR schedule(optimizer, [](int64_t step) { return static_cast<double>(step + 1) / 4; });
  CHECK(lr() == doctest::Approx(0.2));
  schedule.step();
  CHECK(lr() == doctest::Approx(0.4));
}
TEST_CASE_FIXTURE(Fixture, "ReduceLROnPlateau") {
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 1});
  schedule.step(1.0);
  schedule.step(1.0);
  CHECK(lr() == doctest::Approx(0.8));
  schedule.step(1.0);
  CHECK(lr() == doctest::Approx(0.4));
  schedule.step(0.5);
  schedule.step(0.6);
  CHECK(lr() == doctest::Approx(0.4));
}
TEST_CASE_FIXTURE(Fixture, "a scheduler resumes where it was saved") {
  optim::CosineAnnealingLR whole(optimizer, 10);
  for (int i = 0; i < 3; ++i) whole.step();
  serialize::OutputArchive out;
  whole.save(out);
  optimizer.save(out);
  whole.step();
  const double next = lr();

  Fixture other;
  optim::CosineAnnealingLR resumed(other.optimizer, 10);
  serialize::InputArchive in(out.tensors(), out.metadata());
  resumed.load(in);
  other.optimizer.load(in);
  resumed.step();
  CHECK(other.lr() == next);
}

TEST_CASE_FIXTURE(Fixture, "a scheduler resumes from the rates with which it began") {
  optim::LambdaLR whole(optimizer, [](unsigned step) { return 1.0 / (1 + step); });
  for (int i = 0; i < 3; ++i) whole.step();
  serialize::OutputArchive out;
  whole.save(out);

  Fixture other;
  other.optimizer.param_groups()[0].options().set_lr(0.1);
  optim::LambdaLR resumed(other.optimizer, [](unsigned step) { return 1.0 / (1 + step); });
  serialize::InputArchive in(out.tensors(), out.metadata());
  resumed.load(in);
  resumed.step();
  whole.step();
  CHECK(other.lr() == lr());
  CHECK(lr() == doctest::Approx(0.8 / 5));

  optim::SGD two({ones({1}, requires_grad())}, 0.1);
  two.add_param_group(optim::OptimizerParamGroup(std::vector<Tensor>{ones({1}, requires_grad())}));
  optim::LambdaLR wider(two, [](unsigned) { return 1.0; });
  CHECK_THROWS_WITH_AS(wider.load(in), doctest::Contains("saved with 1 parameter groups, but this one has 2"), Error);
}
TEST_CASE_FIXTURE(Fixture, "schedulers refuse what they cannot follow") {
  CHECK_THROWS_WITH_AS(optim::StepLR(optimizer, 0), doctest::Contains("step_size must be positive"), Error);
  CHECK_NOTHROW(optim::StepLR(optimizer, 1));
  CHECK_THROWS_WITH_AS(optim::CosineAnnealingLR(optimizer, 0), doctest::Contains("T_max must be positive"), Error);
  CHECK_NOTHROW(optim::CosineAnnealingLR(optimizer, 1));
  for (const double factor : {-0.5, 0.0, 1.0, 1.5})
    CHECK_THROWS_WITH_AS(optim::ReduceLROnPlateau(optimizer, {.factor = factor}), doctest::Contains("factor"), Error);
  optim::CosineAnnealingLR schedule(optimizer, 3);
  optimizer.add_param_group(optim::OptimizerParamGroup(std::vector<Tensor>{ones({1}, requires_grad())}));
  CHECK_THROWS_WITH_AS(schedule.step(), doctest::Contains("create the scheduler after adding the last group"), Error);
}
TEST_CASE_FIXTURE(Fixture, "ReduceLROnPlateau waits after a reduction, and resumes where it was saved") {
  const optim::ReduceLROnPlateau::Settings settings{.factor = 0.5, .patience = 1, .threshold = 0.1, .cooldown = 2};
  auto schedule = std::make_unique<optim::ReduceLROnPlateau>(optimizer, settings);
  const double metrics[] = {4, 4, 4, 4, 3.7, 4, 4, 3, 3, 3, 3, 3};
  const double rates[] = {0.8, 0.8, 0.4, 0.4, 0.4, 0.4, 0.2, 0.2, 0.2, 0.2, 0.1, 0.1};
  for (std::size_t i = 0; i < 12; ++i) {
    CAPTURE(i);
    serialize::OutputArchive out;
    schedule->save(out);
    serialize::InputArchive in(out.tensors(), out.metadata());
    schedule = std::make_unique<optim::ReduceLROnPlateau>(optimizer, settings);
    schedule->load(in);
    schedule->step(metrics[i]);
    CHECK(lr() == doctest::Approx(rates[i]));
  }
}

namespace {
// Three groups, with rates of 0.8, 0.4 and 0.2.
struct Groups {
  optim::SGD optimizer;
  Groups() : optimizer(groups(), optim::SGDOptions(1)) {}
  static std::vector<optim::OptimizerParamGroup> groups() {
    std::vector<optim::OptimizerParamGroup> out;
    for (const double lr : {0.8, 0.4, 0.2})
      out.emplace_back(std::vector<Tensor>{ones({1}, requires_grad())}, std::make_unique<optim::SGDOptions>(lr));
    return out;
  }
  // Whether the rates are these parts of the first ones.
  void expect(double first, double second, double third) {
    const double expected[] = {0.8 * first, 0.4 * second, 0.2 * third};
    for (std::size_t i = 0; i < 3; ++i)
      CHECK(optimizer.param_groups()[i].options().get_lr() == doctest::Approx(expected[i]));
  }
};
}  // namespace

TEST_CASE_FIXTURE(Groups, "schedulers move the rates of all groups, and save them") {
  optim::LambdaLR halves(optimizer, [](int64_t step) { return std::pow(0.5, step); });
  halves.step();
  expect(0.5, 0.5, 0.5);
  serialize::OutputArchive out;
  halves.save(out);
  CHECK(out.metadata().size() == 5);
  serialize::InputArchive in(out.tensors(), out.metadata());
  Groups other;
  for (auto& group : other.optimizer.param_groups()) group.options().set_lr(7);
  optim::LambdaLR loaded(other.optimizer, [](int64_t step) { return std::pow(0.5, step); });
  loaded.load(in);
  loaded.step();
  other.expect(0.25, 0.25, 0.25);
  halves.step();
  halves.restart();
  CHECK(halves.step_count() == 0);
  expect(1, 1, 1);
  optim::CosineAnnealingLR cosine(optimizer, 2);
  cosine.step();
  expect(0.5, 0.5, 0.5);
  cosine.step();
  cosine.step();
  expect(0.5, 0.5, 0.5);
  const auto expects = [](auto& schedule) {
    CHECK_THROWS_WITH_AS(schedule.step(),
                         doctest::Contains("has 3 learning rates, but the optimizer has 4 parameter groups"), Error);
  };
  optimizer.add_param_group(optim::OptimizerParamGroup(std::vector<Tensor>{ones({1}, requires_grad())}));
  expects(halves);
  expects(cosine);
}

TEST_CASE_FIXTURE(Fixture, "ReduceLROnPlateau: what counts as better") {
  using Plateau = optim::ReduceLROnPlateau;
  constexpr double infinity = std::numeric_limits<double>::infinity();
  // With a patience of 0 the rate falls with every metric that is not better than the best so far.
  struct Row {
    Plateau::Mode mode;
    double threshold;
    std::vector<double> metrics;
    const char* worse;  // by metric, 'x' if the rate falls
  };
  const Row rows[] = {{Plateau::Mode::kMin, 0.25, {8, 7, 6, 5.5, 4.25}, ".xx.x"},
                      {Plateau::Mode::kMin, 0, {8, 8, 7, 7.5}, ".x.x"},
                      {Plateau::Mode::kMin, 0.25, {-8, -9, -10, -11}, ".xx."},
                      {Plateau::Mode::kMin, 0.25, {infinity, infinity, 3, infinity}, "xx.x"},
                      {Plateau::Mode::kMax, 0.25, {8, 9, 10, 10.5, 13}, ".xx.x"},
                      {Plateau::Mode::kMax, 0, {8, 8, 9, 8.5}, ".x.x"},
                      {Plateau::Mode::kMax, 0.25, {-8, -7, -6, -5.5}, ".xx."},
                      {Plateau::Mode::kMax, 0.25, {-infinity, -infinity, 3, -infinity}, "xx.x"}};
  for (const Row& row : rows) {
    optimizer.param_groups()[0].options().set_lr(1);
    Plateau schedule(optimizer, {.mode = row.mode, .factor = 0.5, .patience = 0, .threshold = row.threshold});
    for (std::size_t i = 0; i < row.metrics.size(); ++i) {
      const double before = lr();
      schedule.step(row.metrics[i]);
      CAPTURE(&row - rows);
      CAPTURE(i);
      CHECK((lr() < before) == (row.worse[i] == 'x'));
    }
  }
}

TEST_CASE_FIXTURE(Fixture, "a plateau's patience begins again after each reduction") {
  optimizer.param_groups()[0].options().set_lr(1);
  optim::ReduceLROnPlateau schedule(optimizer, {.factor = 0.5, .patience = 1});
  optim::ReduceLROnPlateauScheduler other(optimizer, optim::ReduceLROnPlateauScheduler::min, 0.5F, 1);
  for (const double rate : {1.0, 1.0, 0.5, 0.5, 0.25, 0.25}) {
    schedule.step(4);
    CHECK(lr() == rate);
  }
  for (const double rate : {0.25, 0.25, 0.125, 0.125, 0.0625}) {
    other.step(4);
    CHECK(lr() == rate);
  }
}

TEST_CASE_FIXTURE(Groups, "ReduceLROnPlateauScheduler reduces all groups, down to a bound, and says so") {
  using Plateau = optim::ReduceLROnPlateauScheduler;
  Plateau bounded(optimizer, Plateau::min, 0.5F, 0, 0, Plateau::abs, 0, {0.25F});
  bounded.step(1);
  expect(1, 1, 1);
  bounded.step(1);  // not better by more than 0
  expect(0.5, 0.625, 1);
  Plateau each(optimizer, Plateau::min, 0.5F, 0, 0, Plateau::abs, 0, {0.25F, 0.125F, 0.0F});
  each.step(1);
  each.step(1);
  expect(0.3125, 0.3125, 0.5);

  Fixture one;
  one.optimizer.param_groups()[0].options().set_lr(0.5);
  Plateau coarse(one.optimizer, Plateau::max, 0.5F, 0, 0.5, Plateau::rel, 0, {}, 0.25);
  const double metrics[] = {4, 5, 6, 6.25, 8};
  for (const double metric : metrics) coarse.step(static_cast<float>(metric));
  CHECK(one.lr() == 0.5);  // 0.25 is no change
  one.optimizer.param_groups()[0].options().set_lr(0.75);
  coarse.step(9.25F);
  CHECK(one.lr() == 0.375);

  const std::streambuf* const before = std::cout.rdbuf();
  std::ostringstream text;
  const auto printed = [&](Plateau& schedule, int steps) {
    text.str("");
    std::cout.rdbuf(text.rdbuf());
    for (int i = 0; i < steps; ++i) schedule.step(1);
    std::cout.rdbuf(const_cast<std::streambuf*>(before));
    return text.str();
  };
  Plateau silent(one.optimizer, Plateau::min, 0.5F, 0),
      loud(one.optimizer, Plateau::min, 0.5F, 0, 1e-4, Plateau::rel, 0, {}, 1e-8, true);
  CHECK(printed(silent, 2).empty());
  CHECK(printed(loud, 2) == "Epoch 2: reducing learning rate of group 0 to 0.09375\n");
  serialize::OutputArchive out;
  loud.save(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  Plateau resumed(one.optimizer, Plateau::min, 0.5F, 0, 1e-4, Plateau::rel, 0, {}, 1e-8, true);
  resumed.load(in);
  CHECK(printed(resumed, 1) == "Epoch 3: reducing learning rate of group 0 to 0.046875\n");

  Plateau patient(one.optimizer, Plateau::min, 0.5F, 2);
  for (int i = 0; i < 3; ++i) patient.step(1);
  serialize::OutputArchive kept;
  patient.save(kept);
  serialize::InputArchive given(kept.tensors(), kept.metadata());
  Plateau fresh(one.optimizer, Plateau::min, 0.5F, 2);
  fresh.load(given);
  const double rate = one.lr();
  fresh.step(2);
  CHECK(one.lr() == rate / 2);
}
