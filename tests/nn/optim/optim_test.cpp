// Optimizers: values from PyTorch 1.13 after four steps, groups, options, closures, allocations; a program's own one.
#include <doctest/doctest.h>

#include <limits>

#include "tandem/autograd/engine.h"
#include "tandem/autograd/grad_mode.h"
#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/core/memory/cpu_allocator.h"
#include "tandem/nn/layers/linear.h"
#include "tandem/nn/optim/optim.h"
#include "tandem/nn/serialize.h"

using namespace tandem;

namespace {

Tensor vec(std::initializer_list<double> values, ScalarType dtype = kDouble) {
  Tensor t = empty({static_cast<int64_t>(values.size())}, TensorOptions(kDouble));
  std::copy(values.begin(), values.end(), t.data_ptr<double>());
  return t.to(dtype);
}

// Four steps from (1, -2, 3) with the gradients of step k: (0.5, -1, 2) (k mod 3 - 0.5) + 0.1 k.
template <class Optimizer, class Options>
void expect(const Options& options, std::initializer_list<double> values) {
  for (const ScalarType dtype : {kDouble, kFloat}) {
    const Tensor p = vec({1, -2, 3}, dtype).requires_grad_();
    Optimizer optimizer(std::vector<Tensor>{p}, options);
    for (int k = 1; k <= 4; ++k) {
      const double f = k % 3 - 0.5;
      p.mutable_grad() = vec({0.5 * f + 0.1 * k, -f + 0.1 * k, 2 * f + 0.1 * k}, dtype);
      optimizer.step();
    }
    const Tensor got = p.detach().to(kDouble);
    for (int64_t i = 0; i < 3; ++i)
      CHECK(got.data_ptr<double>()[i] == doctest::Approx(values.begin()[i]).epsilon(dtype == kDouble ? 1e-13 : 2e-6));
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

TEST_CASE("four steps equal PyTorch's") {
  expect<optim::SGD>(optim::SGDOptions(0.1), {0.8, -1.9, 2.5});
  expect<optim::SGD>(optim::SGDOptions(0.1).weight_decay(0.2), {0.72828844, -1.75063664, 2.28484536});
  expect<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9), {0.547685, -1.65214, 1.74751});
  expect<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).dampening(0.3).weight_decay(0.01),
                     {0.640313114536348, -1.70097088343241, 1.98895444264076});
  expect<optim::SGD>(optim::SGDOptions(0.1).momentum(0.9).nesterov(true).weight_decay(0.01),
                     {0.382515796230356, -1.56457073508875, 1.34171214344473});
  expect<optim::SGD>(optim::SGDOptions(0.1).momentum(0.5).maximize(true), {1.304375, -2.1925, 3.80125});
  expect<optim::Adam>(optim::AdamOptions(0.1), {0.649021507414683, -1.75441498577104, 2.68608683928741});
  expect<optim::Adam>(optim::AdamOptions(0.1).betas({0.7, 0.8}).eps(1e-3).weight_decay(0.1),
                      {0.641318866678482, -1.73455516049812, 2.6765250961977});
  expect<optim::Adam>(optim::AdamOptions(0.1).betas({0.7, 0.8}).amsgrad(true),
                      {0.658981657292673, -1.77771215697697, 2.70426878006589});
  expect<optim::Adam>(optim::AdamOptions(0.1).maximize(true), {1.35097849258532, -2.24558501422896, 3.31391316071259});
  expect<optim::AdamW>(optim::AdamWOptions(0.1), {0.645588020100416, -1.74693633885019, 2.67464553613209});
  expect<optim::AdamW>(optim::AdamWOptions(0.1).weight_decay(0.5).amsgrad(true),
                       {0.490603276338148, -1.40795051934519, 2.1556927632017});
  expect<optim::RMSprop>(optim::RMSpropOptions(0.1), {-1.532373787686, -0.489024425077115, 0.87861703198107});
  expect<optim::RMSprop>(optim::RMSpropOptions(0.1).alpha(0.9).eps(1e-4).weight_decay(0.1).momentum(0.9).centered(true),
                         {-1.23173806740905, -0.207528182744687, 0.922891883753142});
  expect<optim::Adagrad>(optim::AdagradOptions(0.1), {0.747253490219497, -1.84879548387864, 2.78813838323288});
  expect<optim::Adagrad>(optim::AdagradOptions(0.1).lr_decay(0.1).weight_decay(0.2).initial_accumulator_value(0.5),
                         {0.816872579251143, -1.84848073734166, 2.79604676972152});
}

TEST_CASE("non-contiguous parameters, and parameters without a gradient") {
  Tensor base = zeros({2, 3}, TensorOptions(kDouble));
  const Tensor p = base.t().detach().requires_grad_(), unused = ones({2}, requires_grad());
  const Tensor second = zeros({2, 2}, TensorOptions(kDouble)).t().requires_grad_();
  optim::SGD optimizer({p, unused, second}, 0.5);
  p.mutable_grad() = arange(6, kDouble).view({3, 2});
  second.mutable_grad() = ones({2, 2}, kDouble);
  optimizer.step();
  CHECK(p.data_ptr<double>()[0] == 0);
  CHECK(base.data_ptr<double>()[1] == -0.5 * 2);  // p[1, 0]
  CHECK(base.data_ptr<double>()[3] == -0.5 * 1);  // p[0, 1]
  CHECK(unused.data_ptr<float>()[0] == 1);
  CHECK(second.data_ptr<double>()[3] == -0.5);
}

TEST_CASE("zero_grad keeps the memory of gradients, also of those that are part of a graph") {
  const Tensor p = vec({3}).requires_grad_();
  optim::SGD optimizer({p}, 0.5);
  autograd::backward({p * p}, {}, nullopt, true);
  REQUIRE(p.grad().requires_grad());
  const void* memory = p.grad().data_ptr();
  optimizer.zero_grad(false);
  CHECK(p.grad().data_ptr() == memory);
  CHECK(!p.grad().requires_grad());
  CHECK(p.grad().item<double>() == 0);
  optimizer.zero_grad();
  CHECK(!p.grad().defined());
}

namespace {
// A complex parameter takes the same steps as its parts do.
template <class Optimizer, class Options>
void expect_steps_of_parts(const Options& options) {
  const Tensor parts = tensor({{1.0, -2.0}, {0.5, 3.0}}, kDouble).requires_grad_();
  const Tensor z = view_as_complex(parts.detach().clone()).t().requires_grad_();
  Optimizer of_z({z}, options), of_parts({parts}, options);
  const auto loss = [](const Tensor& x) { return (x - 0.25).square().mul(x + 1).sum(); };
  for (int k = 0; k < 4; ++k) {
    const auto step = [&](Optimizer& optimizer, const auto& value) {
      optimizer.step([&] {
        optimizer.zero_grad();
        Tensor out = loss(value());
        out.backward();
        return out;
      });
    };
    step(of_parts, [&] { return parts; });
    step(of_z, [&] { return view_as_real(z); });
  }
  CHECK(equal(view_as_real(z.detach()), parts.detach()));
  CHECK_FALSE(equal(parts.detach(), tensor({{1.0, -2.0}, {0.5, 3.0}}, kDouble)));
}
}  // namespace

TEST_CASE("complex parameters are stepped as their parts") {
  expect_steps_of_parts<optim::SGD>(optim::SGDOptions(0.01).momentum(0.9).weight_decay(0.1));
  expect_steps_of_parts<optim::Adam>(optim::AdamOptions(0.01).amsgrad(true));
  expect_steps_of_parts<optim::AdamW>(optim::AdamWOptions(0.01));
  expect_steps_of_parts<optim::RMSprop>(optim::RMSpropOptions(0.01).momentum(0.9).centered(true));
  expect_steps_of_parts<optim::Adagrad>(optim::AdagradOptions(0.01).initial_accumulator_value(0.5));
  expect_steps_of_parts<optim::Adadelta>(optim::AdadeltaOptions(0.1));
  expect_steps_of_parts<optim::Adamax>(optim::AdamaxOptions(0.01));
  expect_steps_of_parts<optim::NAdam>(optim::NAdamOptions(0.01));
  expect_steps_of_parts<optim::RAdam>(optim::RAdamOptions(0.01));
  expect_steps_of_parts<optim::LBFGS>(optim::LBFGSOptions(0.1).max_iter(3));
}

TEST_CASE("a module of complex numbers learns") {
  nn::Linear layer(2, 1);
  layer->register_buffer("count", ones({1}, kLong));
  layer->to(kComplexDouble);
  CHECK(layer->weight.dtype() == kComplexDouble);
  CHECK(layer->named_buffers()["count"].dtype() == kLong);
  layer->to(kFloat);  // keeps complex numbers
  CHECK(layer->weight.dtype() == kComplexDouble);
  CHECK_THROWS_WITH_AS(layer->to(kLong), doctest::Contains("floating point or complex"), Error);
  const Tensor x = complex(tensor({{1.0, 2.0}, {-1.0, 0.5}, {0.0, 1.0}}, kDouble),
                           tensor({{0.5, -1.0}, {2.0, 1.0}, {1.0, 0.0}}, kDouble));
  const Tensor y = x.matmul(complex(tensor({{1.0}, {-2.0}}, kDouble), tensor({{3.0}, {0.5}}, kDouble)));
  optim::Adam optimizer(layer->parameters(), optim::AdamOptions(0.1));
  double first = 0, loss = 0;
  for (int i = 0; i < 300; ++i) {
    optimizer.zero_grad();
    const Tensor value = (layer->forward(x) - y).abs().square().mean();
    value.backward();
    optimizer.step();
    loss = value.item<double>();
    if (i == 0) first = loss;
  }
  CHECK(first > 1);
  CHECK(loss < 0.02 * first);
}

TEST_CASE("SGD has a buffer only with momentum, and a momentum of 1 adds all gradients") {
  const auto two_steps = [](double momentum, bool has_buffer) {
    const Tensor p = vec({1}).requires_grad_();
    optim::SGD sgd({p}, optim::SGDOptions(0.5).momentum(momentum));
    for (int k = 0; k < 2; ++k) {
      p.mutable_grad() = vec({2});
      sgd.step();
    }
    const auto found = sgd.state().find(p.unsafeGetTensorImpl());
    CHECK((found != sgd.state().end() &&
           static_cast<optim::SGDParamState&>(*found->second).momentum_buffer().defined()) == has_buffer);
    return p.data_ptr<double>()[0];
  };
  CHECK(two_steps(0, false) == 1 - 0.5 * 2 - 0.5 * 2);
  CHECK(two_steps(1, true) == 1 - 0.5 * 2 - 0.5 * (2 + 2));
}

TEST_CASE("weight decay adds the parameter to its gradient, and none does not read it") {
  const auto step = []<class Optimizer, class Options>(const Options& options, double start) {
    const Tensor p = vec({start}).requires_grad_();
    Optimizer optimizer({p}, options);
    p.mutable_grad() = vec({2});
    optimizer.step();
    return p.data_ptr<double>()[0];
  };
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(step.operator()<optim::SGD>(optim::SGDOptions(0.5).weight_decay(1), 3) == 3 - 0.5 * (2 + 3));
  // 0 times infinity would be NaN.
  CHECK(step.operator()<optim::SGD>(optim::SGDOptions(0.5), infinity) == infinity);
  CHECK(step.operator()<optim::SGD>(optim::SGDOptions(0.5).momentum(0.5), infinity) == infinity);
  CHECK(step.operator()<optim::Adam>(optim::AdamOptions(0.5), infinity) == infinity);
  CHECK(step.operator()<optim::RMSprop>(optim::RMSpropOptions(0.5), infinity) == infinity);
  CHECK(step.operator()<optim::Adagrad>(optim::AdagradOptions(0.5), infinity) == infinity);
}

TEST_CASE("a step counts as a write") {
  const Tensor p = ones({2}, requires_grad());
  const Tensor loss = (p * p).sum();
  optim::SGD optimizer({p}, 0.1);
  p.mutable_grad() = ones({2});
  optimizer.step();
  CHECK_THROWS_WITH_AS(loss.backward(), doctest::Contains("SGD"), Error);
}

TEST_CASE("per-group options") {
  const Tensor a = ones({1}, requires_grad()), b = ones({1}, requires_grad());
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{a});
  groups.emplace_back(std::vector<Tensor>{b}, std::make_unique<optim::SGDOptions>(0.5));
  optim::SGD optimizer(groups, optim::SGDOptions(0.25));
  for (const Tensor& p : {a, b}) p.mutable_grad() = ones({1});
  optimizer.step();
  CHECK(a.item<float>() == 0.75f);
  CHECK(b.item<float>() == 0.5f);
  for (auto& group : optimizer.param_groups()) static_cast<optim::SGDOptions&>(group.options()).lr(1);
  optimizer.step();
  CHECK(a.item<float>() == -0.25f);
  optimizer.zero_grad(false);
  CHECK(a.grad().item<float>() == 0);
  optimizer.zero_grad();
  CHECK(!a.grad().defined());
  CHECK(optimizer.size() == 2);
}

TEST_CASE("a closure runs with recording enabled") {
  const Tensor p = full({1}, 3.0, requires_grad());
  optim::SGD optimizer({p}, 0.1);
  const Tensor loss = optimizer.step([&] {
    optimizer.zero_grad();
    Tensor value = p * p;
    value.backward();
    return value;
  });
  CHECK(loss.item<float>() == 9);
  CHECK(p.item<float>() == doctest::Approx(2.4));
  p.mutable_grad() = ones({1});
  CHECK(!optimizer.step(std::function<Tensor()>()).defined());
  CHECK(p.item<float>() == doctest::Approx(2.3));
}

TEST_CASE("a derived optimizer passes the closure on") {
  struct Warmed : optim::SGD {
    using SGD::SGD;
    Tensor step(LossClosure closure = nullptr) override { return SGD::step(closure); }
  };
  const Tensor p = full({1}, 3.0, requires_grad());
  Warmed optimizer({p}, 0.1);
  CHECK(optimizer.step([&] { return p * p; }).item<float>() == 9);
  CHECK(!optimizer.step().defined());
}

TEST_CASE("invalid options and parameters") {
  const auto refuses = [](const char* text, auto options) {
    const std::vector<Tensor> p{ones({1}, requires_grad())};
    if constexpr (std::is_same_v<decltype(options), optim::SGDOptions>)
      CHECK_THROWS_WITH_AS(optim::SGD(p, options), doctest::Contains(text), Error);
    else
      CHECK_THROWS_WITH_AS(optim::Adam(p, options), doctest::Contains(text), Error);
  };
  const auto refuses_all = [&]<class Optimizer, class Options>(std::initializer_list<Options> all) {
    for (const Options& options : all) CHECK_THROWS_AS(Optimizer({ones({1}, requires_grad())}, options), Error);
  };
  const auto with_betas = [&]<class Optimizer, class Options>() {
    refuses_all.template operator()<Optimizer, Options>(
        {Options(-1), Options(1).betas({-0.1, 0.9}), Options(1).betas({1.0, 0.9}), Options(1).betas({0.9, -0.1}),
         Options(1).betas({0.9, 1.0}), Options(1).eps(-1), Options(1).weight_decay(-1)});
    CHECK_NOTHROW(Optimizer({ones({1}, requires_grad())}, Options(0).betas({0.0, 0.0}).eps(0)));
  };
  with_betas.operator()<optim::Adam, optim::AdamOptions>();
  with_betas.operator()<optim::NAdam, optim::NAdamOptions>();
  with_betas.operator()<optim::RAdam, optim::RAdamOptions>();
  with_betas.operator()<optim::Adamax, optim::AdamaxOptions>();
  using Adadelta = optim::AdadeltaOptions;
  refuses_all.operator()<optim::Adadelta, Adadelta>(
      {Adadelta(-1), Adadelta(1).rho(-0.1), Adadelta(1).rho(1.1), Adadelta(1).eps(-1), Adadelta(1).weight_decay(-1)});
  using Adagrad = optim::AdagradOptions;
  refuses_all.operator()<optim::Adagrad, Adagrad>({Adagrad(-1), Adagrad(1).lr_decay(-1), Adagrad(1).weight_decay(-1),
                                                   Adagrad(1).initial_accumulator_value(-1), Adagrad(1).eps(-1)});
  using RMSprop = optim::RMSpropOptions;
  refuses_all.operator()<optim::RMSprop, RMSprop>(
      {RMSprop(-1), RMSprop(1).momentum(-1), RMSprop(1).eps(-1), RMSprop(1).weight_decay(-1), RMSprop(1).alpha(-1)});
  refuses("Invalid learning rate: -1", optim::SGDOptions(-1));
  refuses("Invalid momentum", optim::SGDOptions(1).momentum(-0.5));
  refuses("Invalid weight_decay", optim::SGDOptions(1).weight_decay(-0.5));
  refuses("Nesterov", optim::SGDOptions(1).nesterov(true));
  refuses("Nesterov", optim::SGDOptions(1).momentum(0.5).dampening(0.5).nesterov(true));
  refuses("beta parameter at index 1", optim::AdamOptions(1).betas({0.9, 1.0}));
  refuses("epsilon", optim::AdamOptions(1).eps(-1));
  const Tensor p = ones({1}, requires_grad());
  std::vector<optim::OptimizerParamGroup> groups;
  groups.emplace_back(std::vector<Tensor>{p}, std::make_unique<optim::SGDOptions>(-2));
  CHECK_THROWS_WITH_AS(optim::SGD(groups, 0.1), doctest::Contains("Invalid learning rate: -2"), Error);
  CHECK_THROWS_WITH_AS(optim::SGD({Tensor()}, 0.1), doctest::Contains("undefined parameter"), Error);
  CHECK_THROWS_WITH_AS(optim::SGD({p * 2}, 0.1), doctest::Contains("non-leaf"), Error);
  CHECK_THROWS_WITH_AS(optim::SGD({p, p}, 0.1), doctest::Contains("more than one"), Error);
}

TEST_CASE("only the first step allocates memory") {
  nn::Linear net(30, 20);
  optim::Adam optimizer(net->parameters());
  for (const Tensor& p : net->parameters()) p.mutable_grad() = ones(p.sizes());
  optimizer.step();
  const auto before = memory_stats(Device(kCPU, 0)).allocations;
  optimizer.step();
  optimizer.step();
  CHECK(memory_stats(Device(kCPU, 0)).allocations == before);
}

TEST_CASE("a step that throws keeps no tensor alive") {
  const int64_t before = memory_stats(kCPU).current_bytes;
  {
    const Tensor a = ones({100}).requires_grad_(), b = ones({100}).requires_grad_();
    optim::SGD sgd(std::vector<Tensor>{a, b}, optim::SGDOptions(0.1));
    a.mutable_grad() = ones({100});
    b.mutable_grad() = ones({100}).to(kDouble);
    CHECK_THROWS_AS(sgd.step(), Error);
  }
  CHECK_EQ(memory_stats(kCPU).current_bytes, before);
}

TEST_CASE("options of a group that were left at their defaults are the optimizer's") {
  const Tensor p = vec({1}).requires_grad_(), q = vec({1}).requires_grad_();
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

TEST_CASE("Adagrad has its state from the beginning") {
  const Tensor p = vec({1, 2}).requires_grad_();
  optim::Adagrad optimizer({p}, optim::AdagradOptions(0.1).initial_accumulator_value(0.25));
  auto& state = static_cast<optim::AdagradParamState&>(*optimizer.state().at(p.unsafeGetTensorImpl()));
  CHECK(state.step() == 0);
  CHECK(state.sum().data_ptr<double>()[1] == 0.25);
}

TEST_CASE("options and states are compared") {
  CHECK((optim::AdamOptions(0.1) == optim::AdamOptions(0.1)));
  CHECK((optim::AdamOptions(0.1) != optim::AdamOptions(0.1).eps(1e-4)));
  CHECK((optim::LBFGSOptions().line_search_fn("strong_wolfe") != optim::LBFGSOptions()));
  const optim::OptimizerOptions &sgd = optim::SGDOptions(0.1), &adagrad = optim::AdagradOptions(0.1);
  CHECK((sgd != adagrad));
  optim::AdamParamState a, b;
  a.step(2).exp_avg(ones({3}));
  CHECK((a != b));
  b.step(1).exp_avg(ones({3}));
  CHECK((a != b));
  b.step(2).exp_avg(ones({3}));
  CHECK((a == b));
  b.exp_avg(ones({3}, kDouble));
  CHECK((a != b));
  CHECK_THROWS_WITH_AS(static_cast<void>(Descent::Options() == Descent::Options()),
                       doctest::Contains("override fields()"), Error);
}

TEST_CASE("a program's own optimizer") {
  const Tensor p = vec({2}).requires_grad_();
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
