// Parameters that are stepped together: different step counts and groups, what is saved of them, and refused gradients.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

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

namespace {
// Options and a state of a program: a number of steps, or a tensor alone.
struct Counted : optim::OptimizerCloneableOptions<Counted> {
  TANDEM_ARG(double, lr) = 0.5;
  TANDEM_ARG(int64_t, every) = 2;
  TANDEM_ARG(bool, fast) = false;

 public:
  std::vector<optim::Field> fields() override {
    return {{.name = "lr", .number = &lr_}, {.name = "every", .count = &every_}, {.name = "fast", .flag = &fast_}};
  }
};
struct Other : optim::OptimizerCloneableOptions<Other> {
  TANDEM_ARG(double, lr) = 0.5;
  std::vector<optim::Field> fields() override { return {{.name = "lr", .number = &lr_}}; }
};
struct Sum : optim::OptimizerCloneableParamState<Sum> {
  Tensor sum;
  std::vector<optim::Field> fields() override { return {{.name = "sum", .tensor = &sum}}; }
};
struct Counting : optim::Optimizer {
  Counting(const std::vector<optim::OptimizerParamGroup>& groups, const Counted& defaults)
      : Optimizer(groups, std::make_unique<Counted>(defaults)) {}
  Tensor step(LossClosure) override { return {}; }
};
// Neither clones nor has a rate.
struct Bare : optim::OptimizerOptions {};
struct BareState : optim::OptimizerParamState {};
}  // namespace

TEST_CASE("a program's options inherit and compare numbers of steps and flags, and only those of their kind") {
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{parameter(1, 1)}, std::make_unique<Counted>(Counted().lr(0.25)));
  groups.emplace_back(std::vector<Tensor>{parameter(1, 1)}, std::make_unique<Counted>(Counted().every(3).fast(true)));
  groups.emplace_back(std::vector<Tensor>{parameter(1, 1)}, std::make_unique<Other>());
  const Counting optimizer(groups, Counted().lr(0.125).every(7));
  const auto& first = options_of<Counted>(optimizer, 0);
  CHECK(first.lr() == 0.25);
  CHECK(first.every() == 7);
  CHECK_FALSE(first.fast());
  const auto& second = options_of<Counted>(optimizer, 1);
  CHECK(second.lr() == 0.125);
  CHECK(second.every() == 3);
  CHECK(second.fast());
  CHECK(options_of<Other>(optimizer, 2).lr() == 0.5);

  CHECK_THROWS_WITH_AS(Bare().clone(), doctest::Contains("clone() is not implemented for these optimizer options"),
                       Error);
  CHECK_THROWS_WITH_AS(Bare().set_lr(1), doctest::Contains("set_lr() is not implemented"), Error);
  CHECK_THROWS_WITH_AS(Bare().get_lr(), doctest::Contains("get_lr() is not implemented"), Error);
  CHECK_THROWS_WITH_AS(BareState().clone(), doctest::Contains("clone() is not implemented for this optimizer state"),
                       Error);
}

TEST_CASE("states compare the names, dtypes and values of their tensors, and are read with what is missing") {
  Sum sum, equal_sum;
  sum.sum = ones({2});
  equal_sum.sum = ones({2});
  CHECK((sum == equal_sum));
  equal_sum.sum = zeros({2});
  CHECK((sum != equal_sum));
  optim::AdamParamState first, second;
  first.exp_avg(ones({2}));
  second.exp_avg_sq(ones({2}));
  CHECK((first != second));

  serialize::OutputArchive out;
  first.step(3);
  first.serialize(out);
  serialize::InputArchive in(out.tensors(), out.metadata());
  second.serialize(in);
  CHECK((second == first));
  CHECK_FALSE(second.exp_avg_sq().defined());
}

TEST_CASE("optimizers refuse invalid defaults and shared parameters, and pass over what is not there") {
  const Tensor p = parameter(1, 2), q = parameter(2, 2);
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<optim::SGDOptions>(0.5));
  CHECK_THROWS_WITH_AS(optim::SGD(groups, optim::SGDOptions(-1)), doctest::Contains("Invalid learning rate: -1"),
                       Error);
  CHECK_THROWS_AS(optim::AdamW({p}, optim::AdamWOptions(-1)), Error);
  CHECK_THROWS_AS(optim::NAdam({p}, optim::NAdamOptions().momentum_decay(-1)), Error);
  CHECK_NOTHROW(optim::Adadelta({p}, optim::AdadeltaOptions().rho(0)));
  CHECK_NOTHROW(optim::Adadelta({p}, optim::AdadeltaOptions().rho(1)));
  groups.emplace_back(std::vector<Tensor>{q, p});
  CHECK_THROWS_WITH_AS(optim::SGD(groups, 0.5), doctest::Contains("more than one parameter group"), Error);

  optim::SGD sgd({p, q}, optim::SGDOptions(0.5).momentum(0.5));
  sgd.param_groups()[0].params().insert(sgd.param_groups()[0].params().begin(), Tensor());  // as a program may do
  q.mutable_grad() = ones({2}, kDouble);
  sgd.step();
  sgd.param_groups()[0].params().erase(sgd.param_groups()[0].params().begin());
  CHECK(equal(q.detach(), full({2}, 1.5, kDouble)));
  CHECK(equal(p.detach(), ones({2}, kDouble)));
  sgd.zero_grad(false);
  CHECK_FALSE(p.grad().defined());
  CHECK(equal(q.grad(), zeros({2}, kDouble)));
  sgd.state()[p.impl()] = nullptr;
  serialize::InputArchive archive = saved(sgd);
  optim::SGD other({p, q}, 0.5);
  other.load(archive);
  CHECK(other.state().size() == 1);
}

TEST_CASE("gradients may have gaps, and parameters may be complex") {
  const Tensor p = parameter(1, 3), z = zeros({2}, kComplexDouble).requires_grad_(),
               w = ones({2}, kComplexDouble).requires_grad_();
  p.mutable_grad() = arange(6, kDouble).view({3, 2}).select(1, 1);
  optim::SGD(std::vector<Tensor>{p}, 1).step();
  CHECK(equal(p.detach(), tensor({0., -2., -4.}, kDouble)));

  // Two complex parameters in one call; gradients of several devices, summed once.
  const Tensor flat = ones({4}, kComplexDouble), others = full({4}, 2, kComplexDouble);
  z.mutable_grad() = flat.narrow(0, 0, 2);
  w.mutable_grad() = flat.narrow(0, 2, 2);
  optim::SGD sgd(std::vector<Tensor>{z, w}, 0.5);
  sgd.step_with({flat, {others}});
  CHECK(equal(z.detach(), full({2}, -1.5, kComplexDouble)));
  CHECK(equal(w.detach(), full({2}, -0.5, kComplexDouble)));
  sgd.step();
  CHECK(equal(z.detach(), full({2}, -3, kComplexDouble)));
  const Tensor own = ones({2}), more = ones({2}), x = zeros({2}, requires_grad());
  x.mutable_grad() = own;
  optim::SGD real(std::vector<Tensor>{x}, 1);
  real.step_with({own, {more}});
  real.step();  // of the gradient alone
  CHECK(equal(x.detach(), full({2}, -4.)));

  // A state that was loaded is complex, that of a step is real.
  const auto go_on = [&]<class Optimizer>(bool loads) {
    const Tensor c = full({2}, 1, kComplexDouble).requires_grad_();
    auto optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{c});
    for (int k = 0; k < 3; ++k) {
      c.mutable_grad() = full({2}, std::cos(k), kComplexDouble);
      optimizer->step();
      if (!loads) continue;
      serialize::InputArchive archive = saved(*optimizer);
      optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{c});
      optimizer->load(archive);
    }
    return c.detach();
  };
  CHECK(equal(go_on.operator()<optim::Adam>(true), go_on.operator()<optim::Adam>(false)));
}

TEST_CASE("weight decay of 1 decays, and one of 0 does not read the parameter") {
  const auto step = [](auto optimizer, const Tensor& p) {
    p.mutable_grad() = zeros({1}, kDouble);
    optimizer.step();
    return p.item<double>();
  };
  const double infinity = std::numeric_limits<double>::infinity();
  const Tensor p = parameter(1, 1), q = parameter(infinity, 1);
  CHECK(step(optim::Adamax({p}, optim::AdamaxOptions(0.5).weight_decay(1)), p) < 0.75);
  CHECK(step(optim::Adamax({q}, optim::AdamaxOptions(0.5)), q) == infinity);
  optim::RMSprop plain({p}, 0.1);
  p.mutable_grad() = ones({1}, kDouble);
  plain.step();
  CHECK_FALSE(static_cast<optim::RMSpropParamState&>(*plain.state().at(p.impl())).momentum_buffer().defined());
}
