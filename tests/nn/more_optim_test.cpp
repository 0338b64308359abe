// Adadelta, Adamax, NAdam, RAdam and LBFGS: values from PyTorch; inherited options; a program's own optimizer.
#include <doctest/doctest.h>

#include <sstream>

#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/nn/serialize.h"

using namespace tandem;

namespace {

Tensor row(std::initializer_list<double> values) { return tensor(std::vector<double>(values), TensorOptions(kDouble)); }

// Steps from (1, -2, 3) with the gradients of step k: (0.5, -1, 2) (k mod 3 - 0.5) + 0.1 k.
template <class Optimizer, class Options>
void expect(const Options& options, int steps, std::initializer_list<double> values) {
  const Tensor p = row({1, -2, 3}).requires_grad_();
  auto optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{p}, options);
  for (int k = 1; k <= steps; ++k) {
    const double f = k % 3 - 0.5;
    p.mutable_grad() = row({0.5 * f + 0.1 * k, -f + 0.1 * k, 2 * f + 0.1 * k});
    optimizer->step();
    if (k != 2) continue;  // goes on with a loaded state
    std::stringstream file;
    save(*optimizer, file);
    optimizer = std::make_unique<Optimizer>(std::vector<Tensor>{p}, Options());
    load(*optimizer, file);
  }
  for (int64_t i = 0; i < 3; ++i) CHECK(p[i].item<double>() == doctest::Approx(values.begin()[i]).epsilon(1e-13));
}

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

// Gradient descent, with its own options and state.
struct Descent : optim::Optimizer {
  struct Options : optim::OptimizerCloneableOptions<Options> {
    TANDEM_ARG(double, lr) = 0.5;
  };
  struct State : optim::OptimizerCloneableParamState<State> {
    TANDEM_ARG(int64_t, calls) = 0;

   public:
    void serialize(serialize::OutputArchive& archive) const override { archive.write("calls", calls_); }
    void serialize(serialize::InputArchive& archive) override { archive.read("calls", calls_); }
  };
  explicit Descent(std::vector<Tensor> params) : Optimizer(std::move(params), std::make_unique<Options>()) {}
  Tensor step(LossClosure closure = nullptr) override {
    Tensor loss;
    if (closure != nullptr) {
      const AutoGradMode enable(true);
      loss = closure();
    }
    const NoGradGuard no_grad;
    for (auto& group : param_groups_)
      for (Tensor p : group.params()) {
        if (!state_[p.unsafeGetTensorImpl()]) state_[p.unsafeGetTensorImpl()] = std::make_unique<State>();
        ++static_cast<State&>(*state_[p.unsafeGetTensorImpl()]).calls();
        p.sub_(p.grad() * group.options().get_lr());
      }
    return loss;
  }
};

}  // namespace

TEST_CASE("four steps of Adadelta, Adamax, NAdam and RAdam equal PyTorch's") {
  using namespace optim;
  expect<Adadelta>(AdadeltaOptions(), 4, {0.988890279926431, -1.99531191813199, 2.99141876578828});
  expect<Adadelta>(AdadeltaOptions(0.5).rho(0.8).eps(1e-3).weight_decay(0.1).maximize(true), 4,
                   {1.11397988618343, -2.02754557399233, 3.08612281757009});
  expect<Adamax>(AdamaxOptions(), 4, {0.994619295743514, -1.99593668939519, 2.99515448685976});
  expect<Adamax>(AdamaxOptions(0.1).betas({0.7, 0.8}).eps(1e-3).weight_decay(0.1).maximize(true), 4,
                 {1.28606875409602, -2.14793996766371, 3.24160308452126});
  expect<NAdam>(NAdamOptions(), 4, {0.994088307062826, -1.9966140312011, 2.9950833525327});
  expect<NAdam>(NAdamOptions(0.1).betas({0.7, 0.8}).eps(1e-3).weight_decay(0.1).momentum_decay(0.1), 4,
                {0.652112056984689, -1.77896953878004, 2.70210492472215});
  expect<NAdam>(NAdamOptions(0.1).weight_decay(0.1).decoupled_weight_decay(true).maximize(true), 4,
                {1.25090105037277, -2.08582356510246, 3.12261517001503});
  expect<RAdam>(RAdamOptions(), 4, {0.998045606023376, -1.99825952644348, 2.99435073849023});
  expect<RAdam>(RAdamOptions(0.1).weight_decay(0.1), 8, {0.680389964310286, -1.68650413521618, 2.11016848249278});
  expect<RAdam>(RAdamOptions(0.1).betas({0.7, 0.9}).weight_decay(0.1).decoupled_weight_decay(true).maximize(true), 8,
                {1.27560993043999, -2.03785268714669, 3.55158499502564});
  CHECK_THROWS_AS(Adadelta({row({1}).requires_grad_()}, AdadeltaOptions().rho(1.5)), Error);
}

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

TEST_CASE("options of a group that were left at their defaults are the optimizer's") {
  const Tensor p = row({1}).requires_grad_(), q = row({1}).requires_grad_();
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p},
                      std::make_unique<optim::AdamOptions>(optim::AdamOptions().weight_decay(0.1)));
  groups.emplace_back(std::vector<Tensor>{q},
                      std::make_unique<optim::AdamOptions>(optim::AdamOptions(0.5).betas({0.5, 0.999})));
  optim::Adam adam(groups, optim::AdamOptions(0.01).weight_decay(0.05).betas({0.8, 0.9}).amsgrad(true));
  const auto& first = static_cast<optim::AdamOptions&>(adam.param_groups()[0].options());
  CHECK(first.lr() == 0.01);
  CHECK(first.weight_decay() == 0.1);
  CHECK(first.betas() == std::make_tuple(0.8, 0.9));
  CHECK(first.amsgrad());
  const auto& second = static_cast<optim::AdamOptions&>(adam.param_groups()[1].options());
  CHECK(second.lr() == 0.5);
  CHECK(second.weight_decay() == 0.05);
  CHECK(second.betas() == std::make_tuple(0.5, 0.999));
}

TEST_CASE("a program's own optimizer") {
  const Tensor p = row({2}).requires_grad_();
  Descent descent({p});
  const auto loss = [&] {
    descent.zero_grad();
    const Tensor l = p.pow(2).sum();
    l.backward();
    return l;
  };
  CHECK(descent.step(loss).item<double>() == 4);
  CHECK(p.item<double>() == 0);
  CHECK(descent.state().size() == 1);
  descent.param_groups()[0].options().set_lr(0.25);
  optim::ExponentialLR(descent, 0.5).step();
  CHECK(descent.param_groups()[0].options().get_lr() == 0.125);
  const auto copy = descent.state().begin()->second->clone();
  CHECK(static_cast<Descent::State&>(*copy).calls() == 1);
  serialize::OutputArchive out;
  out << descent;
  serialize::InputArchive in(out.tensors(), out.metadata());
  Descent other({p});
  CHECK_THROWS_WITH_AS(in >> other, doctest::Contains("make_state"), Error);
  CHECK_THROWS_WITH_AS(optim::OptimizerOptions().get_lr(), doctest::Contains("get_lr"), Error);
}
