// Learning rate schedulers against their formulas.
#include "tandem/nn/optim/schedulers.h"

#include <doctest/doctest.h>

#include <cmath>

#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
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
