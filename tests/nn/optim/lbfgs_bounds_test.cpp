// LBFGS: where its iterations and evaluations end, and what is saved of it.
#include <doctest/doctest.h>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/files/archive.h"
#include "tandem/nn/optim/lbfgs.h"

using namespace tandem;

namespace {
Tensor row(std::initializer_list<double> values) { return tensor(std::vector<double>(values), TensorOptions(kDouble)); }
}  // namespace

TEST_CASE("LBFGS ends its iterations at the bounds of its options") {
  // Iterations, and where they end, of a function of one number from `start` on, whose loss is `offset` higher.
  struct End {
    int64_t iterations;
    double x;
  };
  const auto run = [](const optim::LBFGSOptions& options, double start, bool linear, double offset = 0) {
    const Tensor p = row({start}).requires_grad_();
    optim::LBFGS optimizer(std::vector<Tensor>{p}, options);
    optimizer.step([&] {
      p.mutable_grad().reset();
      const Tensor loss = (linear ? 2 * p : 0.5 * p * p).sum() + offset;
      loss.backward();
      return loss;
    });
    const auto& state = static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second);
    return End{state.n_iter(), p.item<double>()};
  };
  const auto expect = [](const End& end, int64_t iterations, double x) {
    CHECK(end.iterations == iterations);
    CHECK(end.x == doctest::Approx(x).epsilon(1e-12));
  };
  const auto options = [](double lr, double gradient, double change) {
    return optim::LBFGSOptions(lr).max_iter(3).tolerance_grad(gradient).tolerance_change(change);
  };
  expect(run(options(0.5, 2, 0), 1, true), 0, 1);                    // the gradient is as large as its bound
  expect(run(options(0.5, 0.5, 0), 1, false), 1, 0.5);               // so it is after a step
  expect(run(options(0.1, 0, 2e-6), 1e-3, false), 1, 1e-3);          // the slope is -1e-6
  expect(run(options(0.5, 0, 0.25), 0.5, false), 1, 0.25);           // it is as large as the bound
  expect(run(options(0.5, 0, 0.5), 1, true), 1, 0.5);                // the step is as long as the bound
  expect(run(options(0.1, 0, 5e-7), 1e-3, false), 1, 9e-4);          // the loss changes by 1e-7
  CHECK(run(options(0.1, 0, 0), 1e-9, false, 1e3).iterations == 2);  // it does not change
  CHECK(run(options(1, 0, 1e-9).max_eval(5).line_search_fn("strong_wolfe"), 0, true).x < -100);

  // Changes of gradient and parameter whose product is too small do not enter the history.
  for (const double lr : {0.8, 1.2}) {
    const Tensor p = row({1e-5}).requires_grad_();
    optim::LBFGS optimizer(std::vector<Tensor>{p}, options(lr, 0, 0));
    optimizer.step([&] {
      p.mutable_grad() = p.detach().clone();
      return (0.5 * p * p).sum();
    });
    const auto& state = static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second);
    CHECK(state.old_dirs().size() == (lr < 1 ? 0 : 1));
  }
}

TEST_CASE("LBFGS evaluates within its bound in a line search, and moves several parameters as one") {
  const Tensor p = row({0}).requires_grad_();
  optim::LBFGS bounded(std::vector<Tensor>{p}, optim::LBFGSOptions(0.1).max_eval(5).line_search_fn("strong_wolfe"));
  bounded.step([&] {
    p.mutable_grad() = row({-1});
    return -p.detach().sum();
  });
  CHECK(static_cast<optim::LBFGSParamState&>(*bounded.state().begin()->second).func_evals() == 6);

  const Tensor both = row({-1.5, 2}).requires_grad_(), x = row({-1.5}).requires_grad_(), y = row({2}).requires_grad_();
  const optim::LBFGSOptions options = optim::LBFGSOptions(1).max_iter(6).line_search_fn("strong_wolfe");
  optim::LBFGS one(std::vector<Tensor>{both}, options), two(std::vector<Tensor>{x, y}, options);
  const auto step = [](optim::LBFGS& optimizer, const auto& a, const auto& b) {
    optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor loss = (1 - a()).pow(2).sum() + 100 * (b() - a().pow(2)).pow(2).sum();
      loss.backward();
      return loss;
    });
  };
  for (int i = 0; i < 2; ++i) {
    step(
        one, [&] { return both[0]; }, [&] { return both[1]; });
    step(
        two, [&] { return x; }, [&] { return y; });
  }
  CHECK(x.item<double>() == doctest::Approx(both[0].item<double>()));
  CHECK(y.item<double>() == doctest::Approx(both[1].item<double>()));
}

TEST_CASE("options and states of LBFGS are saved and loaded, with what is missing in them") {
  const auto copy = [](const auto& from, auto& to) {
    serialize::OutputArchive out;
    from.serialize(out);
    serialize::InputArchive in(out.tensors(), out.metadata());
    to.serialize(in);
    return in;
  };
  optim::LBFGSOptions options = optim::LBFGSOptions(0.5).max_iter(7).max_eval(9).history_size(3);
  options.tolerance_grad(0.25).tolerance_change(0.125).line_search_fn("strong_wolfe");
  optim::LBFGSOptions other;
  copy(options, other);
  CHECK(other.lr() == 0.5);
  CHECK(other.max_iter() == 7);
  CHECK(other.max_eval() == optional<int64_t>(9));
  CHECK(other.history_size() == 3);
  CHECK(other.tolerance_grad() == 0.25);
  CHECK(other.tolerance_change() == 0.125);
  CHECK(other.line_search_fn() == optional<std::string>("strong_wolfe"));
  copy(optim::LBFGSOptions(), other);
  CHECK_FALSE(other.max_eval().has_value());
  CHECK_FALSE(other.line_search_fn().has_value());

  optim::LBFGSParamState state, loaded;
  state.func_evals(3).n_iter(2).t(0.5).prev_loss(1.5).d(row({1, 2})).H_diag(row({3})).prev_flat_grad(row({4, 5}));
  serialize::InputArchive archive = copy(state, loaded);
  CHECK((loaded == state));
  CHECK(loaded.prev_loss() == 1.5);
  CHECK(equal(loaded.H_diag(), row({3})));
  loaded.d().zero_();
  CHECK(equal(archive.tensors()["d"], row({1, 2})));  // has its own memory
  copy(optim::LBFGSParamState(), loaded);
  CHECK_FALSE(loaded.d().defined());
  CHECK_FALSE(loaded.H_diag().defined());
  CHECK_FALSE(loaded.prev_flat_grad().defined());

  // As a step leaves it, and in an optimizer of more numbers.
  const Tensor p = row({0.25}).requires_grad_(), wider = row({1, 2}).requires_grad_();
  const auto closure = [](const Tensor& of) {
    return [&of] {
      of.mutable_grad() = of.detach().clone();
      return of.detach().pow(2).sum() / 2;
    };
  };
  optim::LBFGS optimizer(std::vector<Tensor>{p}, optim::LBFGSOptions(0.5).max_iter(1));
  CHECK(static_cast<optim::LBFGSOptions&>(optimizer.param_groups()[0].options()).max_eval() == optional<int64_t>(1));
  CHECK(static_cast<const optim::LBFGSOptions&>(optimizer.defaults()).max_eval() == optional<int64_t>(1));
  optimizer.step(closure(p));
  const auto& used = static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second);
  CHECK(used.prev_loss() == 0.03125);
  CHECK(used.H_diag().item<double>() == 1);
  CHECK(p.item<double>() == 0.125);
  auto& own = static_cast<optim::LBFGSOptions&>(optimizer.param_groups()[0].options());
  own.max_iter(8).max_eval(nullopt);
  optimizer.step(closure(p));
  CHECK(own.max_eval() == optional<int64_t>(10));
  optim::LBFGS narrow(std::vector<Tensor>{wider});
  narrow.state()[wider.impl()] = used.clone();
  CHECK_THROWS_WITH_AS(narrow.step(closure(wider)), doctest::Contains("directions of 1 numbers"), Error);
}
