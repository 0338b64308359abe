// LBFGS: PyTorch's path, saving and loading, errors.
#include <doctest/doctest.h>

#include <cmath>
#include <sstream>

#include "tandem/autograd/ops.h"
#include "tandem/autograd/ops/factories/factories.h"
#include "tandem/nn/optim/lbfgs_line_search.h"
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

// Functions of a length, and their slopes.
using Function = std::pair<double, double> (*)(double t);
std::pair<double, double> more(double t) { return {-t / (t * t + 2), (t * t - 2) / ((t * t + 2) * (t * t + 2))}; }
std::pair<double, double> steep(double t) {
  const double u = t + 0.004;
  return {std::pow(u, 5) - 2 * std::pow(u, 4), 5 * std::pow(u, 4) - 8 * std::pow(u, 3)};
}
std::pair<double, double> quartic(double t) { return {std::pow(t - 3, 4), 4 * std::pow(t - 3, 3)}; }
std::pair<double, double> line(double t) { return {-t, -1}; }
std::pair<double, double> barrier(double t) { return {-3 * t - std::log(1 - t), -3 + 1 / (1 - t)}; }
std::pair<double, double> waves(double t) {
  const auto [loss, slope] = more(t);
  return {loss - 0.1 * std::sin(12 * t), slope - 1.2 * std::cos(12 * t)};
}
std::pair<double, double> kink(double t) { return {std::abs(t - 0.7) - 0.2 * t, (t > 0.7 ? 1 : -1) - 0.2}; }

// A line search: the lengths that it evaluates, and the one that it chooses.
struct Search {
  Function function;
  double first;
  int64_t most, evaluations;
  double sum, chosen;
};

}  // namespace

TEST_CASE("the line search evaluates the same lengths as PyTorch's") {
  const Search searches[] = {{more, 0.001, 25, 4, 0.934049306085, 0.823049306085},
                             {more, 0.1, 25, 2, 0.922303296454, 0.822303296454},
                             {more, 1, 25, 1, 1, 1},
                             {more, 10, 25, 1, 10, 10},
                             {more, 100, 25, 1, 100, 100},
                             {steep, 0.001, 4, 5, 1.1215191275, 0.917939989876},
                             {steep, 0.001, 25, 13, 14.4136580888, 1.596},
                             {steep, 0.1, 4, 5, 5.57379273335, 1.75973770835},
                             {steep, 0.1, 25, 10, 13.4785598492, 1.596},
                             {steep, 1, 4, 5, 7.26332154392, 1.59782741571},
                             {steep, 1, 25, 7, 10.4553214439, 1.596},
                             {steep, 10, 4, 5, 19.8696434905, 1.63458394595},
                             {steep, 10, 25, 9, 26.2525870795, 1.596},
                             {steep, 100, 4, 5, 177.783673086, 0},
                             {steep, 100, 25, 11, 187.595344389, 1.59600000018},
                             {quartic, 0.001, 25, 4, 0.203579137625, 0.166774112625},
                             {quartic, 0.1, 25, 2, 0.6505, 0.5505},
                             {quartic, 1, 25, 1, 1, 1},
                             {quartic, 10, 25, 2, 14.7756194664, 4.7756194664},
                             {quartic, 100, 25, 5, 158.068014689, 3.06481747682},
                             {line, 0.1, 4, 5, 1111.1, 1000},
                             {line, 0.1, 25, 26, 1.11111111111e+24, 1e+24},
                             {barrier, 0.001, 4, 5, 1.68919463339, 0.632653125218},
                             {barrier, 0.001, 25, 5, 1.68919463339, 0.632653125218},
                             {barrier, 0.1, 4, 3, 1.68512040643, 0.635283229814},
                             {barrier, 0.1, 25, 3, 1.68512040643, 0.635283229814},
                             {waves, 0.001, 4, 3, 0.111, 0.1},
                             {waves, 0.001, 25, 3, 0.111, 0.1},
                             {waves, 0.1, 4, 1, 0.1, 0.1},
                             {waves, 0.1, 25, 1, 0.1, 0.1},
                             {waves, 1, 4, 1, 1, 1},
                             {waves, 1, 25, 1, 1, 1},
                             {waves, 10, 4, 1, 10, 10},
                             {waves, 10, 25, 1, 10, 10},
                             {waves, 100, 4, 3, 155.396151909, 31.5034403782},
                             {waves, 100, 25, 3, 155.396151909, 31.5034403782},
                             {kink, 0.001, 4, 5, 6.117055, 0},
                             {kink, 0.001, 25, 7, 8.330241099, 0.763935618256},
                             {kink, 0.1, 4, 5, 5.42157416311, 0.715720340089},
                             {kink, 0.1, 25, 5, 5.42157416311, 0.715720340089},
                             {kink, 1, 4, 1, 1, 1},
                             {kink, 1, 25, 1, 1, 1},
                             {kink, 10, 4, 3, 12.724894905, 0.774877421061},
                             {kink, 10, 25, 3, 12.724894905, 0.774877421061},
                             {kink, 100, 4, 4, 121.509235006, 0.861564678468},
                             {kink, 100, 25, 4, 121.509235006, 0.861564678468}};
  for (const Search& s : searches) {
    double sum = 0;
    int64_t evaluations = 3, calls = 0;
    const auto evaluate = [&](double t) {
      sum += t;
      ++calls;
      const auto [loss, slope] = s.function(t);
      return optim::LinePoint{t, loss, {}, slope};
    };
    const auto [loss, slope] = s.function(0);
    const double chosen = optim::strong_wolfe(evaluate, s.first, {0, loss, {}, slope}, 1, 1e-9, s.most, evaluations).t;
    CAPTURE(&s - searches);
    CHECK(calls == s.evaluations);
    CHECK(evaluations == 3 + s.evaluations);
    CHECK(sum == doctest::Approx(s.sum).epsilon(1e-9));
    CHECK(chosen == doctest::Approx(s.chosen).epsilon(1e-9));
  }
}

TEST_CASE("the line search decides as PyTorch's, also where losses, lengths or slopes are equal") {
  // Losses and slopes are multiples of a quarter and a half that the seed decides, whatever the length. The sum of the
  // lengths, and the one that PyTorch chooses.
  struct Script {
    unsigned seed;
    int64_t evaluations;
    double sum, chosen;
  };
  const Script scripts[] = {{1, 3, 1.39202446792, 0.058691134588},
                            {2, 3, 1.39168781849, 0.0583544851519},
                            {3, 2, 2.01, 1.01},
                            {4, 3, 3.02010453715, 1.01},
                            {5, 5, 11.7150207571, 1},
                            {7, 3, 1.39202446792, 0.058691134588},
                            {8, 3, 1.31174971806, 0.0404632719335},
                            {9, 1, 1, 1},
                            {10, 3, 1.75555555556, 0.333333333333},
                            {11, 2, 6.505, 5.505},
                            {12, 2, 6.505, 5.505},
                            {13, 3, 12.05505, 5.505},
                            {14, 6, 12.7131857831, 1},
                            {15, 4, 1.67413151238, 0.0723016035052},
                            {16, 5, 1.40436006389, 0.0485746492142},
                            {17, 1, 1, 1},
                            {19, 3, 12.05505, 5.505},
                            {20, 5, 11.9037396568, 1},
                            {22, 4, 1.42792108662, 0.032239168398},
                            {25, 1, 1, 1},
                            {27, 5, 10.547242113, 1},
                            {28, 5, 10.7965797226, 1},
                            {34, 4, 9.37685724737, 1.25901683522},
                            {36, 5, 10.7310777919, 1},
                            {42, 5, 10.4305873431, 1.01054518413},
                            {43, 5, 10.3984300306, 1.01275386582},
                            {60, 4, 1.70312021595, 0.279072524249},
                            {68, 4, 1.78443696523, 0.13079159383},
                            {69, 4, 1.55331570991, 0.0502307629758},
                            {73, 6, 13.2464014843, 1},
                            {75, 4, 1.16815355976, 0.0214120183736},
                            {82, 6, 12.7215684273, 1},
                            {95, 4, 9.52499541313, 1},
                            {96, 4, 9.33047558175, 1},
                            {104, 5, 10.5410664009, 1},
                            {111, 4, 9.14843866288, 1},
                            {114, 4, 2.47257378506, 0.478689955179},
                            {120, 4, 1.58670113765, 0.150472076548},
                            {126, 4, 1.60918414109, 0.16449543362},
                            {135, 4, 1.61455282207, 0.137733483922},
                            {143, 4, 1.22081977922, 0.0385492113481},
                            {150, 5, 11.4272669511, 1},
                            {164, 4, 9.21429757404, 1},
                            {165, 4, 1.22024089952, 0.018274388059},
                            {167, 3, 2.40220007529, 0.735533408628},
                            {171, 4, 1.23904422346, 0.0183216114685},
                            {173, 4, 1.65701225746, 0.176073403764},
                            {175, 3, 2.73703418364, 0.969442304399},
                            {179, 4, 1.68290019123, 0.185666510612},
                            {187, 5, 10.5952457166, 1},
                            {208, 5, 1.40184217119, 0.0581245502875},
                            {212, 4, 3.1718351275, 0.742472812458},
                            {266, 4, 3.49155110779, 0.784753285613},
                            {267, 5, 4.20934177718, 0.773460191762},
                            {297, 3, 2.75620713714, 0.988615257891},
                            {320, 5, 4.24676724916, 0.783184243613}};
  for (const Script& s : scripts) {
    unsigned state = s.seed;
    const auto draw = [&](unsigned choices) {
      state = (state * 1103515245U + 12345U) & 0x7fffffffU;
      return static_cast<double>((state >> 16) % choices);
    };
    double sum = 0;
    int64_t evaluations = 0;
    const auto evaluate = [&](double t) {
      sum += t;
      const double loss = (draw(5) - 3) / 4;
      return optim::LinePoint{t, loss, {}, (draw(7) - 4) / 2};
    };
    const double chosen = optim::strong_wolfe(evaluate, 1, {0, 0, {}, -1}, 2, 0.2, 6, evaluations).t;
    CAPTURE(s.seed);
    CHECK(evaluations == s.evaluations);
    CHECK(sum == doctest::Approx(s.sum).epsilon(1e-9));
    CHECK(chosen == doctest::Approx(s.chosen).epsilon(1e-9));
  }
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

TEST_CASE("LBFGS ends a step where the gradient is small enough") {
  const Rosenbrock f;
  optim::LBFGS optimizer(std::vector<Tensor>{f.p}, optim::LBFGSOptions(0.1).max_iter(9).tolerance_grad(1e6));
  optimizer.step(f);
  CHECK(static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second).n_iter() == 0);
  static_cast<optim::LBFGSOptions&>(optimizer.param_groups()[0].options()).tolerance_grad(50);
  optimizer.step(f);  // the first gradient is larger, the second is not
  CHECK(static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second).n_iter() == 1);
}

TEST_CASE("LBFGS goes on in another dtype, and refuses histories that differ in length") {
  const Rosenbrock f;
  optim::LBFGS optimizer(std::vector<Tensor>{f.p}, optim::LBFGSOptions(0.01).max_iter(3));
  optimizer.step(f);
  std::stringstream file;
  save(optimizer, file);
  const Rosenbrock narrow{f.p.detach().to(kFloat).requires_grad_()};
  optim::LBFGS other(std::vector<Tensor>{narrow.p}, optim::LBFGSOptions(0.01).max_iter(3));
  load(other, file);
  optimizer.step(f);
  other.step(narrow);
  CHECK(narrow.p.dtype() == kFloat);
  for (int i = 0; i < 2; ++i) CHECK(narrow.p[i].item<double>() == doctest::Approx(f.p[i].item<double>()).epsilon(1e-5));

  optim::LBFGSParamState state;
  state.ro().push_back(ones({}));
  serialize::OutputArchive archive;
  std::stringstream text;
  state.serialize(archive);
  archive.save_to(text);
  serialize::InputArchive in;
  in.load_from(text);
  CHECK_THROWS_WITH_AS(state.serialize(in), doctest::Contains("histories differ in length: 0, 0 and 1"), Error);
}

TEST_CASE("LBFGS evaluates the loss at most five quarters as often as it iterates, or as often as given") {
  const auto most = [](const optim::LBFGSOptions& options) {
    const Rosenbrock f;
    optim::LBFGS optimizer(std::vector<Tensor>{f.p}, options);
    optimizer.step(f);
    const auto& used = static_cast<optim::LBFGSOptions&>(optimizer.param_groups()[0].options());
    const auto& state = static_cast<optim::LBFGSParamState&>(*optimizer.state().begin()->second);
    return std::pair(used.max_eval().value(), state.func_evals());
  };
  CHECK(most(optim::LBFGSOptions(0.01).max_iter(8)) == std::pair<int64_t, int64_t>(10, 8));
  CHECK(most(optim::LBFGSOptions(0.01).max_iter(8).max_eval(3)) == std::pair<int64_t, int64_t>(3, 3));
}

TEST_CASE("LBFGS rejects several groups, other line searches and a missing closure") {
  const Tensor p = row({1}).requires_grad_(), q = row({1}).requires_grad_();
  using Groups = std::vector<optim::OptimizerParamGroup>;
  CHECK_THROWS_WITH_AS(optim::LBFGS(Groups{std::vector<Tensor>{p}, std::vector<Tensor>{q}}),
                       doctest::Contains("parameter groups"), Error);
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}, optim::LBFGSOptions().line_search_fn("armijo")),
                       doctest::Contains("strong_wolfe"), Error);
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}, optim::LBFGSOptions().history_size(0)),
                       doctest::Contains("Invalid history_size: 0"), Error);
  CHECK_NOTHROW(optim::LBFGS(std::vector<Tensor>{p}, optim::LBFGSOptions().history_size(1)));
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}, optim::LBFGSOptions(-1)),
                       doctest::Contains("Invalid learning rate: -1"), Error);
  CHECK_THROWS_WITH_AS(optim::LBFGS(std::vector<Tensor>{p}).step(nullptr), doctest::Contains("closure"), Error);
  optim::LBFGS empty_one(std::vector<Tensor>{});
  CHECK(empty_one.step([&] { return p.detach(); }).item<double>() == 1);
}
