// LBFGS: PyTorch's path, saving and loading, errors.
#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/nn/serialize.h"

using namespace tandem;

namespace {

Tensor row(std::initializer_list<double> values) { return tensor(std::vector<double>(values), TensorOptions(kDouble)); }

struct Rosenbrock {
  Tensor p = row({-1.5, 2}).requires_grad_();
  Tensor operator()() const {
    p.mutable_grad().reset();
    const Tensor loss = (1 - p[0]).pow(2) + 100 * (p[1] - p[0].pow(2)).pow(2);
    loss.backward();
    return loss;
  }
};
struct Row {
  double loss, x, y;
  int64_t evaluations, iterations;
};

void expect_rosenbrock(const optim::LBFGSOptions& options, std::initializer_list<Row> rows) {
  const Rosenbrock f;
  auto optimizer = std::make_unique<optim::LBFGS>(std::vector<Tensor>{f.p}, options);
  for (const Row& r : rows) {
    CHECK(optimizer->step(f).item<double>() == doctest::Approx(r.loss).epsilon(1e-9));
    CHECK(f.p[0].item<double>() == doctest::Approx(r.x).epsilon(1e-9));
    CHECK(f.p[1].item<double>() == doctest::Approx(r.y).epsilon(1e-9));
    const auto& state = static_cast<optim::LBFGSParamState&>(*optimizer->state().begin()->second);
    CHECK(state.func_evals() == r.evaluations);
    CHECK(state.n_iter() == r.iterations);
    std::stringstream file;
    save(*optimizer, file);
    optimizer = std::make_unique<optim::LBFGS>(std::vector<Tensor>{f.p});
    load(*optimizer, file);
  }
}

}  // namespace

TEST_CASE("LBFGS follows PyTorch's path on Rosenbrock's function, also across saving and loading") {
  expect_rosenbrock(optim::LBFGSOptions(1).max_iter(6).history_size(4).line_search_fn("strong_wolfe"),
                    {{12.5, -1.41423094877, 1.99490204044, 7, 5},
                     {5.8311603749, -1.12736389164, 1.29018561924, 14, 10},
                     {4.56268055528, -0.625570721996, 0.364770642974, 21, 15},
                     {2.71306648757, 0.16918199896, -0.00914359060023, 29, 21},
                     {0.832886679161, 0.390433527895, 0.138585811302, 36, 26}});
  expect_rosenbrock(optim::LBFGSOptions(0.01).max_iter(5).history_size(3),
                    {{12.5, -1.48978838452, 2.0033162536, 5, 5},
                     {10.8712657944, -1.48660827574, 2.0043967484, 10, 10},
                     {10.4106617137, -1.48357069812, 2.00544062446, 15, 15},
                     {9.99176700626, -1.48066457927, 2.00643217905, 20, 20}});
}

TEST_CASE("LBFGS on two parameters: a regression") {
  const Tensor x = linspace(-1, 1, 12, kDouble).view({6, 2}), y = row({1, -1, 0.5, 2, 0, 3}).view({6, 1});
  const Tensor w = zeros({2, 1}, TensorOptions(kDouble)).requires_grad_();
  const Tensor b = zeros({1}, TensorOptions(kDouble)).requires_grad_();
  optim::LBFGS optimizer(std::vector<Tensor>{w, b}, optim::LBFGSOptions(0.5).max_iter(4));
  const double expected[][4] = {{1.70833333333, 0.561017045059, 0.539591422132, -0.117840926096},
                                {1.19429582108, 0.653528372713, 0.625823878734, -0.15237471688},
                                {1.18545949027, 0.661863184034, 0.63345558834, -0.156241776313},
                                {1.18539616287, 0.66231655348, 0.633868481545, -0.156464395644}};
  for (const auto& e : expected) {
    const Tensor loss = optimizer.step([&] {
      optimizer.zero_grad();
      const Tensor l = ((x.matmul(w) + b).sigmoid() * 4 - 1 - y).pow(2).mean();
      l.backward();
      return l;
    });
    CHECK(loss.item<double>() == doctest::Approx(e[0]).epsilon(1e-10));
    CHECK(w[0].item<double>() == doctest::Approx(e[1]).epsilon(1e-10));
    CHECK(w[1].item<double>() == doctest::Approx(e[2]).epsilon(1e-10));
    CHECK(b.item<double>() == doctest::Approx(e[3]).epsilon(1e-10));
  }
}

TEST_CASE("LBFGS rejects several groups, other line searches and a missing closure") {
  const Tensor p = row({1}).requires_grad_(), q = row({1}).requires_grad_();
  using Groups = std::vector<optim::OptimizerParamGroup>;
  CHECK_THROWS_WITH_AS(optim::LBFGS(Groups{std::vector<Tensor>{p}, std::vector<Tensor>{q}}),
                       doctest::Contains("parameter groups"), Error);
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}, optim::LBFGSOptions().line_search_fn("armijo")),
                       doctest::Contains("strong_wolfe"), Error);
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}).step(nullptr), doctest::Contains("closure"), Error);
  optim::LBFGS empty_one(std::vector<Tensor>{});
  CHECK(empty_one.step([&] { return p.detach(); }).item<double>() == 1);
}
