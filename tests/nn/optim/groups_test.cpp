// Parameters that are stepped together: different step counts and groups, what is saved of them, and refused gradients.
#include <doctest/doctest.h>

#include <cmath>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/optim.h"

using namespace tandem;

namespace {

Tensor parameter(double value, int64_t size) { return full({size}, value, kDouble).requires_grad_(); }

// The gradient of a parameter in a step.
Tensor gradient(const Tensor& p, std::size_t i, int step) {
  return p.detach().mul(0.25).add_(std::sin(static_cast<double>(3 * i) + step));
}
// Parameter i takes part from step i % 3 on; 2 and 5 are not contiguous.
std::vector<Tensor> some_parameters() {
  std::vector<Tensor> out;
  for (int i = 0; i < 6; ++i)
    out.push_back(i % 3 == 2 ? full({2, 3}, i - 2.5, kDouble).t().requires_grad_() : parameter(i - 2.5, i + 1));
  return out;
}
void step(optim::Optimizer& optimizer, const std::vector<Tensor>& parameters, std::size_t first, int step) {
  for (std::size_t i = 0; i < parameters.size(); ++i)
    if (step >= static_cast<int>((first + i) % 3))
      parameters[i].mutable_grad() = gradient(parameters[i], first + i, step);
  optimizer.step();
}

// Parameters in one optimizer end where they do if each has its own.
template <class Optimizer, class Options>
void expect_alone(const Options& options) {
  const std::vector<Tensor> together = some_parameters(), alone = some_parameters();
  Optimizer all(together, options);
  for (int k = 0; k < 4; ++k) step(all, together, 0, k);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    CAPTURE(i);
    Optimizer one({alone[i]}, options);
    for (int k = 0; k < 4; ++k) step(one, {alone[i]}, i, k);
    CHECK(equal(alone[i].detach(), together[i].detach()));
  }
}

// Two groups of one parameter each.
template <class Optimizer, class Options>
Optimizer two_groups(const Tensor& p, const Tensor& q, const Options& first, const Options& second) {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<Options>(first));
  groups.emplace_back(std::vector<Tensor>{q}, std::make_unique<Options>(second));
  return Optimizer(groups);
}
template <class Options>
const Options& options_of(const optim::Optimizer& optimizer, std::size_t group) {
  return static_cast<const Options&>(optimizer.param_groups()[group].options());
}
serialize::InputArchive saved(const optim::Optimizer& optimizer) {
  serialize::OutputArchive out;
  optimizer.save(out);
  return serialize::InputArchive(out.tensors(), out.metadata());
}

}  // namespace

TEST_CASE("parameters with different step counts are stepped as if each were alone") {
  expect_alone<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).weight_decay(0.1));
  expect_alone<optim::Adam>(optim::AdamOptions(0.1).amsgrad(true));
  expect_alone<optim::AdamW>(optim::AdamWOptions(0.1));
  expect_alone<optim::RMSprop>(optim::RMSpropOptions(0.1).centered(true).momentum(0.5));
  expect_alone<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.5));
  expect_alone<optim::Adadelta>(optim::AdadeltaOptions(0.1));
  expect_alone<optim::Adamax>(optim::AdamaxOptions(0.1));
  expect_alone<optim::NAdam>(optim::NAdamOptions(0.1));
  expect_alone<optim::RAdam>(optim::RAdamOptions(0.1));
}

TEST_CASE("gradients must be like their parameters") {
  const auto refuses = [](const Tensor& gradient) {
    const Tensor p = parameter(1, 3);
    optim::SGD sgd({p}, 0.1);
    p.mutable_grad() = gradient;
    CHECK_THROWS_AS(sgd.step(), Error);
    CHECK(equal(p.detach(), ones({3}, kDouble)));
  };
  refuses(ones({4}, kDouble));
  refuses(ones({1, 3}, kDouble));
  refuses(ones({3}, kFloat));
}

TEST_CASE("options and states of all groups are saved and loaded") {
  const Tensor p = parameter(1, 2), q = parameter(2, 3), p2 = parameter(1, 2), q2 = parameter(2, 3);
  const optim::AdamOptions first(0.1), second = optim::AdamOptions(0.2).betas({0.5, 0.6}).eps(1e-3);
  auto one = two_groups<optim::Adam>(p, q, first, second);
  for (int k = 0; k < 3; ++k) step(one, {p, q}, 0, k);
  auto other = two_groups<optim::Adam>(p2, q2, optim::AdamOptions(0.3), optim::AdamOptions(0.4));
  serialize::InputArchive archive = saved(one);
  other.load(archive);
  CHECK((options_of<optim::AdamOptions>(other, 0) == first));
  CHECK((options_of<optim::AdamOptions>(other, 1) == second));
  REQUIRE(other.state().size() == 2);
  CHECK((*other.state().at(p2.impl()) == *one.state().at(p.impl())));
  CHECK((*other.state().at(q2.impl()) == *one.state().at(q.impl())));

  optim::Adam narrow({p2});
  CHECK_THROWS_WITH_AS(narrow.load(archive), doctest::Contains("2 parameter groups were saved"), Error);
  auto wrong = two_groups<optim::Adam>(q2, p2, first, second);
  CHECK_THROWS_WITH_AS(wrong.load(archive), doctest::Contains("has shape"), Error);
  auto bad = two_groups<optim::Adam>(p, q, first, second);
  static_cast<optim::AdamOptions&>(bad.param_groups()[1].options()).lr(-1);
  serialize::InputArchive invalid = saved(bad);
  CHECK_THROWS_WITH_AS(other.load(invalid), doctest::Contains("Invalid learning rate"), Error);
  CHECK((options_of<optim::AdamOptions>(other, 1) == second));  // nothing was changed
}

TEST_CASE("a loaded state goes on in the parameter's dtype") {
  const Tensor wide = parameter(1, 2), narrow = full({2}, 1, kFloat).requires_grad_();
  optim::Adam one({wide}, 0.1), other({narrow}, 0.1);
  const auto both = [&](optim::Optimizer& optimizer, const Tensor& p, int k) {
    p.mutable_grad() = full({2}, std::cos(k), TensorOptions(p.dtype()));
    optimizer.step();
  };
  both(one, wide, 0);
  serialize::InputArchive archive = saved(one);
  other.load(archive);
  narrow.detach().copy_(wide.detach());
  auto& state = static_cast<optim::AdamParamState&>(*other.state().at(narrow.impl()));
  state.exp_avg(state.exp_avg().to(kDouble));  // as a program may set it
  for (int k = 1; k < 3; ++k) {
    both(one, wide, k);
    both(other, narrow, k);
  }
  CHECK(state.exp_avg().dtype() == kFloat);
  CHECK(narrow.detach()[0].item<double>() == doctest::Approx(wide.detach()[0].item<double>()).epsilon(1e-6));
}

TEST_CASE("steps are counted in the state") {
  const auto count = [](auto optimizer, auto state) {
    const Tensor p = optimizer.param_groups()[0].params()[0];
    for (int k = 0; k < 3; ++k) step(optimizer, {p}, 0, k);
    return static_cast<decltype(state)&>(*optimizer.state().at(p.impl())).step();
  };
  CHECK(count(optim::RMSprop({parameter(1, 2)}), optim::RMSpropParamState()) == 3);
  CHECK(count(optim::Adadelta({parameter(1, 2)}), optim::AdadeltaParamState()) == 3);
  CHECK(count(optim::Adagrad({parameter(1, 2)}), optim::AdagradParamState()) == 3);
  CHECK(count(optim::Adam({parameter(1, 2)}), optim::AdamParamState()) == 3);
}
